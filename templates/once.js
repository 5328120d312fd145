// Sends a form once although a double click asks for it twice; the server decides anyway.
// It uses old syntax, and may fail: the pages are complete without it.
(function () {
  document.addEventListener('submit', function (event) {
    var form = event.target;
    if (event.defaultPrevented) return;
    if (form.getAttribute('data-sent')) event.preventDefault();
    form.setAttribute('data-sent', 'yes');
    setTimeout(function () {
      form.removeAttribute('data-sent');
    }, 10000);
  });
  // a page that Back shows again
  window.addEventListener('pageshow', function () {
    for (var index = 0; index < document.forms.length; index++) document.forms[index].removeAttribute('data-sent');
  });
})();
