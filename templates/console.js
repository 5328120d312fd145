// Moves the focus to the search field at the key "/", until the user turns that off on the search page (WCAG 2.1.4).
// It uses old syntax, and may fail: the pages are complete without it.
(function () {
  var field = document.getElementById('find');
  var hint = document.getElementById('find-key');
  var choice = document.getElementById('search-key');
  var name = 'gatehouse-search-key';
  var isOn = localStorage.getItem(name) !== 'off';
  var show = function () {
    hint.hidden = !isOn;
    if (isOn) field.setAttribute('aria-keyshortcuts', '/');
    else field.removeAttribute('aria-keyshortcuts');
  };
  show();
  document.addEventListener('keydown', function (event) {
    if (!isOn || event.key !== '/' || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest('input, select, textarea')) return;
    event.preventDefault();
    field.focus();
    field.select();
  });
  if (!choice) return;
  choice.checked = isOn;
  choice.addEventListener('change', function () {
    isOn = choice.checked;
    localStorage.setItem(name, isOn ? 'on' : 'off');
    show();
  });
  choice.closest('label').hidden = false;
})();
