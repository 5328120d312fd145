// Adds what HTML cannot do: a button that shows the password, and the redirect once the front-channel logout is done.
// It uses old syntax, and may fail: the pages are complete without it.
(function () {
  var button = document.getElementById('show-password');
  var field = document.getElementById('password');
  if (button && field) {
    var texts = [button.textContent, button.getAttribute('data-hide')];
    var labels = [button.getAttribute('aria-label'), button.getAttribute('data-hide-label')];
    var show = function (shown) {
      field.type = shown ? 'text' : 'password';
      button.textContent = texts[shown ? 1 : 0];
      button.setAttribute('aria-label', labels[shown ? 1 : 0]);
    };
    button.addEventListener('click', function () {
      show(field.type === 'password');
      field.focus();
    });
    // Submitted as a password field, so that the browser does not remember the value as text.
    field.form.addEventListener('submit', function () {
      show(false);
    });
    button.hidden = false;
  }
  var onward = document.querySelector('[data-go-on]');
  if (onward) {
    var gone = false;
    var go = function () {
      if (!gone) location.replace(onward.href);
      gone = true;
    };
    // `load` waits for the frames; a frame that never answers must not hold up the user.
    window.addEventListener('load', go);
    setTimeout(go, 4000);
  }
})();
