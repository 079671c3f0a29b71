// One press of the back key goes back one page: what changes within a page replaces its address.
(() => {
  if (window.contextInspectorAddress) return;
  window.contextInspectorAddress = true;
  const push = history.pushState.bind(history);
  history.pushState = (state, title, address) => {
    const isSamePage = new URL(address, location.href).pathname === location.pathname;
    if (isSamePage) history.replaceState(state, title, address);
    else push(state, title, address);
  };
})();
