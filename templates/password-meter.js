// Estimates the strength of a new password while the user types it; the service decides which passwords it accepts.
// It cuts the text into the cheapest pieces: common words, names, rows of keys, repetitions, years, and single letters.
(function () {
  var meter = document.getElementById('strength');
  var field = document.getElementById('password');
  if (!meter || !field) return;
  var words =
    ' password passwort passwd pass contrasena motdepasse kennwort geheim secret admin administrator root user guest test demo login welcome willkommen hello hallo changeme letmein open access enter master server system service manager office company internet computer windows google apple samsung iphone facebook qwerty qwertz azerty asdf abc abcd iloveyou love lover loveme baby babygirl honey sweet darling angel princess prince queen king lucky happy smile sunshine summer sommer spring winter autumn january february march april june july august september october november december monday friday sunday christmas dragon monkey tiger lion eagle wolf bear panda puppy kitty dog cat horse butterfly football soccer baseball basketball hockey liverpool arsenal chelsea barcelona superman batman spiderman pokemon naruto minecraft starwars harry potter killer hunter ninja magic shadow flower orange banana cherry cookie chocolate coffee cheese pizza red blue green black white silver gold diamond star moon heaven freedom power money ferrari porsche mercedes london paris berlin america canada germany michael jennifer jessica jordan ashley nicole daniel andrew joshua matthew robert thomas george charlie david james john maria anna alex alexander jesus christ god forever friend family mother father music metal guitar trustno nobody nothing whatever super mega great best first new big the my one two three four five six ';
  var rows = '01234567890 09876543210 qwertyuiop poiuytrewq qwertzuiop asdfghjkl lkjhgfdsa zxcvbnm mnbvcxz 1qaz2wsx3edc 1q2w3e4r5t abcdefghijklmnopqrstuvwxyz zyxwvutsrqponmlkjihgfedcba'.split(' ');
  var mask = { '@': 'a', 4: 'a', 0: 'o', 1: 'i', '!': 'i', 3: 'e', 5: 's', $: 's', 7: 't' };
  var names = (meter.getAttribute('data-names') || '').toLowerCase().split(/[\s@.]+/);
  function single(text, at) {
    var one = text[at];
    if (/[a-z]/i.test(one)) return at > 1 && /^[a-z]{3}$/i.test(text.slice(at - 2, at + 1)) ? 2.2 : 4.7;
    if (/\d/.test(one)) return 3.3;
    return one === text[at - 1] || one === ' ' ? 1 : 5;
  }
  // in bits, by powers of two of guesses
  function cost(text, plain, from, to) {
    var part = text.slice(from, to);
    var size = to - from;
    if (size === 1) return single(text, from);
    if (size === 4 && /^(19|20)\d\d$/.test(part)) return 6.5;
    if (size < 3) return Infinity;
    if (/^(.)\1+$/.test(part)) return 5;
    if (from >= size && text.slice(0, from).indexOf(part) >= 0) return 2;
    if (names.indexOf(part) >= 0 || names.indexOf(plain.slice(from, to)) >= 0) return 3;
    if (words.indexOf(' ' + part + ' ') >= 0) return 8;
    if (words.indexOf(' ' + plain.slice(from, to) + ' ') >= 0) return 9;
    for (var row = 0; row < rows.length; row++) if (rows[row].indexOf(part) >= 0) return 6;
    return Infinity;
  }
  function bits(typed) {
    var text = typed.toLowerCase().slice(0, 128);
    var plain = text.replace(/[@401!35$7]/g, function (sign) { return mask[sign]; });
    var least = [0];
    for (var to = 1; to <= text.length; to++) {
      least[to] = Infinity;
      for (var from = Math.max(0, to - 40); from < to; from++) {
        var sum = least[from] + cost(text, plain, from, to);
        if (sum < least[to]) least[to] = sum;
      }
    }
    // capitals that are not merely the first letter
    return least[text.length] + Math.min(6, (typed.slice(1).match(/[A-Z]/g) || []).length);
  }
  var bar = meter.querySelector('progress');
  var words4 = ['weak', 'fair', 'good', 'strong'];
  field.addEventListener('input', function () {
    var typed = field.value;
    var guess = bits(typed);
    var short = typed.length < Number(meter.getAttribute('data-least'));
    var level = guess < 38 ? 1 : guess < 50 ? 2 : guess < 66 ? 3 : 4;
    if (short && level > 1) level = 1;
    meter.hidden = typed === '';
    bar.value = level;
    meter.setAttribute('data-level', String(level));
    meter.querySelector('p').textContent = meter.getAttribute(short ? 'data-short' : 'data-' + words4[level - 1]);
  });
})();
