// One press of the back key goes back one page, section or trace: what else changes within a page replaces its
// address. Streamlit names the next page's trace on the present page first: that becomes the next page's entry, and
// a page that had no trace has its own address back, with what was searched there.
(() => {
  if (window.contextInspectorAddress) return;
  window.contextInspectorAddress = true;
  const named = ({ search }, name) => new URLSearchParams(search).get(name);
  const push = history.pushState.bind(history);
  let onTheWay = null;
  let from = null;
  history.pushState = (state, title, address) => {
    const next = new URL(address, location.href);
    const isSamePage = next.pathname === location.pathname;
    const trace = named(location, 'trace');
    const isOther = trace !== named(next, 'trace');
    const isSameSection = named(next, 'section') === named(location, 'section');
    const isWay = !isSamePage && location.href === onTheWay && next.search === location.search;
    const left = isSamePage && isOther && trace === null ? location.href : null;
    if (isWay && from !== null) {
      history.replaceState(state, title, from);
      push(state, title, address);
    } else if (isWay || (isSamePage && (trace === null || !isOther) && isSameSection)) {
      history.replaceState(state, title, address);
    } else push(state, title, address);
    onTheWay = isSamePage && isOther ? location.href : null;
    from = left;
  };
  // U undoes wherever the focus is, on a slider or in a box for numbers too; where one writes words, it is a letter.
  document.addEventListener('keydown', (event) => {
    const writes = event.target.closest?.('textarea, [contenteditable=true], input:not([type=range], [type=number], [type=checkbox])');
    if (event.key.toLowerCase() !== 'u' || event.ctrlKey || event.metaKey || event.altKey || writes) return;
    const undo = document.querySelector('.st-key-undo button:not([disabled])');
    if (!undo) return;
    event.preventDefault();
    undo.click();
  });
  // What came meanwhile is looked for while nothing is drawn and nothing was pressed a moment ago: such a run could
  // come between a press and the page that it leads to.
  let quietUntil = 0;
  for (const press of ['pointerdown', 'keydown']) {
    document.addEventListener(press, () => { quietUntil = performance.now() + 5000; }, true);
  }
  setInterval(() => {
    const isAtRest = document.querySelector('[data-testid=stApp]')?.dataset.testScriptState === 'notRunning';
    if (isAtRest && !document.hidden && performance.now() > quietUntil) document.querySelector('.st-key-look-news button')?.click();
  }, 5000);
  // Where a question is asked one can write at once.
  let asked = null;
  new MutationObserver(() => {
    const field = document.querySelector('[role=dialog] .st-key-new-question input');
    if (field && field !== asked) field.focus();
    asked = field;
  }).observe(document.body, { childList: true, subtree: true });
  // A segment of a bar leads where the row of its candidate does.
  document.addEventListener('click', (event) => {
    const name = event.target.closest?.('[data-leads-to]')?.dataset.leadsTo;
    if (name) document.querySelector(`tr[data-id="${CSS.escape(name)}"]`)?.click();
  });
})();
