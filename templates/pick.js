// Makes fields that name things into pickers: a list of what fits appears while the user types (combobox of WAI-ARIA 1.2).
// A field with a line for each thing becomes a list with a button to remove each. It uses old syntax, and may fail: the fields then take names.
(function () {
  var words = document.getElementById('pick-words');
  if (!words || !window.fetch) return;
  var said = function (name, value) {
    return (words.getAttribute('data-' + name) || '').replace('{value}', value);
  };
  var make = function (tag, attributes, text) {
    var element = document.createElement(tag);
    for (var name in attributes) element.setAttribute(name, attributes[name]);
    if (text !== undefined) element.textContent = text;
    return element;
  };

  // opens the list below an input; take gets the chosen value
  var combine = function (input, uri, take) {
    var id = input.id + '-options';
    var list = make('ul', { id: id, role: 'listbox', class: 'options-list', 'aria-label': said('list') });
    var status = make('p', { class: 'unseen', role: 'status' });
    var box = make('div', { class: 'picker' });
    var active = -1;
    var asked = 0;
    var timer;
    input.parentNode.insertBefore(box, input);
    box.appendChild(input);
    box.appendChild(list);
    box.appendChild(status);
    list.hidden = true;
    input.removeAttribute('list');
    input.setAttribute('role', 'combobox');
    input.setAttribute('aria-autocomplete', 'list');
    input.setAttribute('aria-controls', id);
    input.setAttribute('aria-expanded', 'false');
    input.setAttribute('autocomplete', 'off');
    var close = function () {
      asked++;
      clearTimeout(timer);
      active = -1;
      list.hidden = true;
      input.setAttribute('aria-expanded', 'false');
      input.removeAttribute('aria-activedescendant');
    };
    var choose = function (value) {
      close();
      take(value);
    };
    var mark = function (index) {
      var options = list.children;
      if (options.length === 0) return;
      if (options[active]) options[active].removeAttribute('aria-selected');
      active = (index + options.length) % options.length;
      options[active].setAttribute('aria-selected', 'true');
      options[active].scrollIntoView({ block: 'nearest' });
      input.setAttribute('aria-activedescendant', options[active].id);
    };
    var show = function (found) {
      list.textContent = '';
      found.forEach(function (one, index) {
        var option = make('li', { id: id + '-' + index, role: 'option' });
        option.appendChild(make('bdi', {}, one.value));
        if (one.name) option.appendChild(make('small', {}, ' ' + one.name));
        option.addEventListener('mousedown', function (event) {
          event.preventDefault();
          choose(one.value);
        });
        list.appendChild(option);
      });
      active = -1;
      list.hidden = found.length === 0;
      input.setAttribute('aria-expanded', String(found.length > 0));
      status.textContent = found.length > 0 ? said('count', found.length) : said('none');
    };
    var ask = function () {
      var number = ++asked;
      fetch(uri + '?q=' + encodeURIComponent(input.value.trim()), { headers: { accept: 'application/json' } })
        .then(function (answer) {
          return answer.ok ? answer.json() : { found: [] };
        })
        .then(function (answer) {
          if (number === asked && document.activeElement === input) show(answer.found);
        })
        .catch(close);
    };
    input.addEventListener('input', function () {
      clearTimeout(timer);
      timer = setTimeout(ask, 150);
    });
    input.addEventListener('blur', close);
    input.addEventListener('keydown', function (event) {
      var isOpen = !list.hidden;
      if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
        event.preventDefault();
        if (isOpen) mark(active + (event.key === 'ArrowDown' ? 1 : active < 0 ? 0 : -1));
        else ask();
      } else if (event.key === 'Escape' && isOpen) {
        event.preventDefault();
        close();
      } else if (event.key === 'Enter' && isOpen && active >= 0) {
        event.preventDefault();
        choose(list.children[active].firstChild.textContent);
      }
    });
  };

  // a line for each thing, in the text area, which is hidden
  var listed = function (area) {
    var id = area.id;
    var input = make('input', { id: id, type: 'text', maxlength: '255', autocapitalize: 'none', spellcheck: 'false', dir: 'auto' });
    var chosen = make('ul', { class: 'picked' });
    ['aria-describedby', 'aria-invalid'].forEach(function (name) {
      if (area.hasAttribute(name)) input.setAttribute(name, area.getAttribute(name));
    });
    area.id = id + '-lines';
    area.required = false;
    area.hidden = true;
    area.parentNode.insertBefore(chosen, area);
    area.parentNode.insertBefore(input, area);
    var values = function () { return area.value.trim().split(/\s*\n\s*/).filter(Boolean); };
    var store = function (all) {
      area.value = all.join('\n');
      chosen.textContent = '';
      all.forEach(function (value) {
        var item = make('li', {});
        var button = make('button', { type: 'button', 'aria-label': said('remove', value) }, '×');
        item.appendChild(make('bdi', {}, value));
        button.addEventListener('click', function () {
          store(values().filter(function (one) { return one !== value; }));
          input.focus();
        });
        item.appendChild(button);
        chosen.appendChild(item);
      });
      chosen.hidden = all.length === 0;
    };
    var add = function (value) {
      var all = values();
      if (value && all.indexOf(value) < 0) store(all.concat(value));
      input.value = '';
    };
    store(values());
    combine(input, area.getAttribute('data-pick'), add);
    input.addEventListener('keydown', function (event) {
      if (event.defaultPrevented || event.key !== 'Enter' || input.value.trim() === '') return;
      event.preventDefault();
      add(input.value.trim());
    });
    // what is typed and not chosen is a line, too
    if (area.form) area.form.addEventListener('submit', function () { add(input.value.trim()); });
  };

  var start = function (event) {
    [].forEach.call(event.target.querySelectorAll('[data-pick]'), function (field) {
      if (field.tagName === 'TEXTAREA') return listed(field);
      combine(field, field.getAttribute('data-pick'), function (value) { field.value = value; });
    });
  };
  document.addEventListener('fields', start);
  start({ target: document });
})();
