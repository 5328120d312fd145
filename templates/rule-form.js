// Shows the fields of the kind of rule that is chosen at once, and keeps what was typed in fields that both kinds have.
// It uses old syntax, and may fail: the kinds are then a step of their own.
(function () {
  var kinds = document.getElementById('kinds');
  var place = document.getElementById('rule-form');
  if (!kinds || !place || !('content' in document.createElement('template'))) return;
  var typed = {};
  var controls = function (visit) {
    Array.prototype.forEach.call(place.querySelectorAll('[name]'), function (control) {
      if (control.type !== 'hidden') visit(control, control.type === 'checkbox' ? 'checked' : 'value');
    });
  };
  var show = function (kind) {
    controls(function (control, property) { typed[control.name] = control[property]; });
    place.textContent = '';
    place.appendChild(document.importNode(document.querySelector('template[data-kind="' + kind + '"]').content, true));
    controls(function (control, property) {
      if (control.name in typed) control[property] = typed[control.name];
    });
    // makes pickers of the fields that name things
    place.dispatchEvent(new Event('fields', { bubbles: true }));
  };
  document.getElementById('next').parentNode.hidden = true;
  kinds.addEventListener('change', function (event) {
    show(event.target.value);
  });
  kinds.addEventListener('submit', function (event) {
    event.preventDefault();
  });
})();
