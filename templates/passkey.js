// Asks the browser for the passkey that the form #passkey describes, and posts the result. It uses old syntax; without script, or without
// support in the browser, the form stays hidden and elements marked data-without-passkey stay visible.
(function () {
  var form = document.getElementById('passkey');
  var known = window.PublicKeyCredential;
  var offered = document.querySelector('[data-with-passkey]');
  if (offered && known) offered.hidden = false;
  if (!form || !known || !navigator.credentials || !window.AbortController) return;
  var fault = document.getElementById('passkey-fault');
  var make = form.hasAttribute('data-make');
  var asking;

  // bytes travel as base64url (Web Authentication 5.1)
  var toBytes = function (text) {
    var binary = atob(text.replace(/-/g, '+').replace(/_/g, '/'));
    var bytes = new Uint8Array(binary.length);
    for (var i = 0; i < bytes.length; i++) bytes[i] = binary.charCodeAt(i);
    return bytes;
  };
  var toText = function (buffer) {
    var binary = String.fromCharCode.apply(null, new Uint8Array(buffer));
    return btoa(binary).replace(/\+/g, '-').replace(/\//g, '_').replace(/=/g, '');
  };
  var options = function () {
    var read = JSON.parse(form.getAttribute('data-options'));
    read.challenge = toBytes(read.challenge);
    if (read.user) read.user.id = toBytes(read.user.id);
    (read.allowCredentials || []).concat(read.excludeCredentials || []).forEach(function (credential) {
      credential.id = toBytes(credential.id);
    });
    return read;
  };

  var send = function (credential) {
    var from = credential.response;
    var response = {};
    ['clientDataJSON', 'attestationObject', 'authenticatorData', 'signature', 'userHandle'].forEach(function (name) {
      if (from[name]) response[name] = toText(from[name]);
    });
    if (from.getTransports) response.transports = from.getTransports();
    form.elements.credential.value = JSON.stringify({
      id: credential.id,
      rawId: toText(credential.rawId),
      type: credential.type,
      response: response,
    });
    for (var i = 0; i < form.elements.length; i++) {
      var other = document.getElementById(form.elements[i].getAttribute('data-from') || '');
      if (other) form.elements[i].value = other.value;
    }
    form.submit();
  };

  // One request at a time: the one of the fields ends when the button makes another.
  var ask = function (beside) {
    if (asking) asking.abort();
    var mine = (asking = new AbortController());
    var wish = { publicKey: options(), signal: mine.signal };
    if (beside) wish.mediation = 'conditional';
    navigator.credentials[make ? 'create' : 'get'](wish).then(send, function (error) {
      if (asking !== mine || beside) return;
      var held = error.name === 'InvalidStateError' && fault.getAttribute('data-held');
      fault.textContent = held || fault.getAttribute('data-failed');
      fault.hidden = false;
      offer();
    });
  };
  var offer = function () {
    var can = form.hasAttribute('data-autofill') && known.isConditionalMediationAvailable;
    if (can)
      can.call(known).then(function (yes) {
        if (yes) ask(true);
      });
  };

  form.addEventListener('submit', function (event) {
    event.preventDefault();
    fault.hidden = true;
    ask(false);
  });
  form.hidden = false;
  var without = document.querySelector('[data-without-passkey]');
  if (without) without.remove();
  offer();
})();
