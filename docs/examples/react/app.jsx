// A question in React. esbuild makes public/app.js of it; the device's files lie beside that.
import { useEffect, useState } from "react";
import { createRoot } from "react-dom/client";
import { open } from "@confetti-dp/client";

/** Opens a device, and closes it when whoever asked is gone. */
function useDevice() {
  const [state, set] = useState({});
  useEffect(() => {
    let device, gone = false;
    (async () => {
      try {
        device = await open(await (await fetch("app.json")).json()); // what confetti up wrote
        const asked = await device.charge();
        if (gone) device.close();
        else set({ device, asked });
      } catch (error) {
        set({ error });
      }
    })();
    return () => { gone = true; device?.close(); };
  }, []);
  return state;
}

function Question() {
  const { device, asked, error } = useDevice();
  const [said, say] = useState("");
  if (error) return <p role="alert">{error.code}: {error.message}</p>;
  if (!asked) return <p>The device starts…</p>;
  if (said) return <p role="status">{said}</p>;
  const [attribute] = asked.question.histogram.attributes;
  const answer = (value) => device.report({ [attribute.name]: value }, { consent: true }).then(
    (outcome) => say(outcome.status === "sent" ? `You said: ${outcome.said}.` : `It waits: ${outcome.why}`),
    (failed) => say(`${failed.code}: ${failed.message}`)); // docs/browsers.md says what to do about each
  return <>
    <h1>{asked.title}</h1>
    <p>Who presses agrees: an answer costs epsilon {asked.charge.epsilon.toPrecision(2)} of what this browser may ever say.</p>
    {attribute.values.map((value) => <button key={value} onClick={() => answer(value)}>{value}</button>)}
  </>;
}

createRoot(document.getElementById("root")).render(<Question />);
