// Answers whether a session_state is still valid (OpenID Connect Session Management 1.0 section 3.2). Without a cookie to
// read it answers "error" and never "changed": otherwise a browser that blocks third-party cookies would send the relying
// party to the provider repeatedly.
addEventListener('message', async function (event) {
  if (event.source === null || event.origin === 'null') return;
  var answer = function (status) {
    event.source.postMessage(status, event.origin);
  };
  var asked = /^([!-~]{1,255}) ([0-9a-f]{64})\.([A-Za-z0-9_-]+)$/.exec(event.data);
  var state = /(?:^|; )GATEHOUSE_BROWSER_STATE=([^;]+)/.exec(document.cookie);
  if (!asked || !state || !window.crypto || !crypto.subtle) return answer('error');
  var text = [asked[1], event.origin, state[1], asked[3]].join(' ');
  var hash = new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text)));
  var hex = Array.from(hash, function (byte) {
    return byte.toString(16).padStart(2, '0');
  }).join('');
  answer(hex === asked[2] ? 'unchanged' : 'changed');
});
