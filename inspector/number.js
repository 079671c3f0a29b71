// A box for a number. What is typed is told once, as an event: not with every other press of a key, as the
// values of Streamlit's own boxes are, where one from before the last turn of a slider turned that back.
const boxes = new WeakMap();

export default function ({ parentElement, data, setTriggerValue }) {
  let box = boxes.get(parentElement);
  if (!box) {
    box = document.createElement("input");
    box.type = "number";
    box.className = "ce-number-box";
    boxes.set(parentElement, box);
    parentElement.append(box);
  }
  box.onchange = () => {
    const typed = Math.min(data.most, Math.max(data.least, Number(box.value)));
    if (box.value === "" || !Number.isFinite(typed)) { box.value = data.value; return; }
    box.value = typed;
    setTriggerValue("typed", typed);
  };
  box.min = data.least;
  box.max = data.most;
  box.step = data.step;
  box.setAttribute("aria-label", data.label);
  // What a person is typing stays, until the slider is turned.
  if (box.dataset.drawn !== String(data.value)) { box.value = data.value; box.dataset.drawn = String(data.value); }
  return () => { boxes.delete(parentElement); box.remove(); };
}
