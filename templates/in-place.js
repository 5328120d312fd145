// Sends a form by a button without leaving the page, and shows the part of the answer that the button names: what was typed stays, secrets too.
// It uses old syntax, and may fail: without it the whole page is the answer.
(function () {
  if (!window.fetch || !window.URLSearchParams || !window.DOMParser) return;
  var prepare = function (button) {
    var form = button.form;
    var place = document.getElementById(button.getAttribute('data-in-place'));
    var leave = function () {
      var act = document.createElement('input');
      act.type = 'hidden';
      act.name = button.name;
      act.value = button.value;
      form.appendChild(act);
      form.submit();
    };
    button.addEventListener('click', function (event) {
      event.preventDefault();
      var body = new URLSearchParams(new FormData(form));
      body.append(button.name, button.value);
      button.disabled = true;
      place.setAttribute('aria-busy', 'true');
      fetch(form.action, { method: 'POST', body: body, headers: { accept: 'text/html' }, redirect: 'error' })
        .then(function (answer) {
          if (!answer.ok) throw new Error('refused');
          return answer.text();
        })
        .then(function (text) {
          var found = new DOMParser().parseFromString(text, 'text/html').getElementById(place.id);
          place.innerHTML = '';
          while (found.firstChild) place.appendChild(document.adoptNode(found.firstChild));
          place.removeAttribute('aria-busy');
          button.disabled = false;
        })
        // a field is wrong, or the sign-in is too old: the page says so
        .catch(leave);
    });
  };
  Array.prototype.forEach.call(document.querySelectorAll('[data-in-place]'), prepare);
})();
