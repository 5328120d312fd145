// Adds what HTML cannot do: a button that shows the password, one choice for several forms, and the redirect once the front-channel logout is done.
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
  // A choice holds for each form of the page.
  var choice = document.getElementById('remember');
  if (choice) {
    var copies = [];
    var forms = document.querySelectorAll('.card form');
    for (var i = 0; i < forms.length; i++) {
      if (forms[i] === choice.form) continue;
      var copy = choice.cloneNode();
      copy.id = '';
      copy.hidden = true;
      copies.push(forms[i].appendChild(copy));
    }
    var follow = function () {
      copies.forEach(function (copy) {
        copy.checked = choice.checked;
      });
    };
    choice.addEventListener('change', follow);
    // The browser may restore the choice after this script has run.
    window.addEventListener('pageshow', follow);
    follow();
    choice.parentNode.hidden = false;
  }
  var onward = document.querySelector('[data-go-on]');
  if (onward) {
    var gone = false;
    var go = function () {
      if (!gone) location.replace(onward.href);
      gone = true;
    };
    // The event waits for the frames; a frame that never answers must not hold up the user.
    window.addEventListener('load', go);
    setTimeout(go, 4000);
  }
})();
