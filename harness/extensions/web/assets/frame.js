"use strict";
// Shared by all pages. Content from elsewhere is inserted as text, never as markup.
const token = new URLSearchParams(location.search).get("token");
const at = (id) => document.getElementById(id);

// For foreign text in a line of ours: characters that change the text direction are shown escaped.
const plain = (text) => String(text).replace(/[\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g, (mark) => `\\u${mark.charCodeAt(0).toString(16).padStart(4, "0")}`);

async function ask(path, body) {
  const headers = { "X-Page-Token": token };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const reply = await fetch(path, { method: body === undefined ? "GET" : "POST", headers, body: body === undefined ? undefined : JSON.stringify(body) });
  const value = await reply.json();
  if (!reply.ok) throw new Error(value.error);
  return value;
}

function make(tag, text, parent) {
  const made = document.createElement(tag);
  made.textContent = text;
  parent.append(made);
  return made;
}

function fail(error) {
  at("error").textContent = error.message;
}

// One action at a time, so that a key held down makes one decision, not ten.
let busy = false;
async function run(action) {
  if (busy) return;
  busy = true;
  try {
    await action();
  } catch (error) {
    fail(error);
  } finally {
    busy = false;
  }
}

const done = () => run(() => ask("/done", {}).then(() => (at("progress").textContent = "kept; this page can be closed")));
