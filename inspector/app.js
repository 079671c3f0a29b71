// One press of the back key goes back one page, or section: what else changes within a page replaces its address.
(() => {
  if (window.contextInspectorAddress) return;
  window.contextInspectorAddress = true;
  const sectionOf = ({ search }) => new URLSearchParams(search).get('section');
  const push = history.pushState.bind(history);
  history.pushState = (state, title, address) => {
    const next = new URL(address, location.href);
    const isSamePage = next.pathname === location.pathname;
    if (isSamePage && sectionOf(next) === sectionOf(location)) history.replaceState(state, title, address);
    else push(state, title, address);
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
  // A segment of a bar leads where the row of its candidate does.
  document.addEventListener('click', (event) => {
    const name = event.target.closest?.('[data-leads-to]')?.dataset.leadsTo;
    if (name) document.querySelector(`tr[data-id="${CSS.escape(name)}"]`)?.click();
  });
})();
