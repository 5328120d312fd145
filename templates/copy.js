// Shows the buttons that copy a value. Without this script users select the value.
(function () {
  var prepare = function (button) {
    var source = document.getElementById(button.getAttribute('data-copy'));
    var words = button.textContent;
    var label = button.getAttribute('aria-label');
    var say = function (text, name) {
      button.textContent = text;
      button.setAttribute('aria-label', name);
    };
    var done = function () {
      var copied = button.getAttribute('data-done');
      say(copied, copied);
      setTimeout(say, 2000, words, label);
    };
    button.addEventListener('click', function () {
      // browsers offer the clipboard to pages over https and on the loopback host only
      if (navigator.clipboard) return navigator.clipboard.writeText(source.textContent).then(done);
      window.getSelection().selectAllChildren(source);
      if (document.execCommand('copy')) done();
    });
    button.setAttribute('aria-live', 'polite');
    button.hidden = false;
  };
  Array.prototype.forEach.call(document.querySelectorAll('[data-copy]'), prepare);
})();
