// The half of the session that only the page holds. It is in sessionStorage, which is per origin, the port included. The tabs of a
// browser give it to each other, so that a new tab needs no sign-in.
const key = "effect-relayer.proof"

type Message =
  | { readonly type: "ask" }
  | { readonly type: "proof"; readonly proof: string }
  | { readonly type: "ended" }

const channel = new BroadcastChannel("effect-relayer.session")

const stored = () => sessionStorage.getItem(key) ?? undefined

/** A tab that has lost its proof takes the next one of another tab. A tab that never had one asks for it. */
let hasHadOne = stored() !== undefined

const store = (value: string) => {
  hasHadOne = true
  sessionStorage.setItem(key, value)
}

const isMessage = (value: unknown): value is Message => typeof value === "object" && value !== null && "type" in value

const listen = (act: (message: Message) => void) => {
  const onMessage = ({ data }: MessageEvent<unknown>) => {
    if (isMessage(data)) act(data)
  }
  channel.addEventListener("message", onMessage)
  return () => channel.removeEventListener("message", onMessage)
}

const send = (message: Message) => channel.postMessage(message)

export const proof = stored

/** After a sign-in. The other tabs take the new proof. */
export const keepProof = (value: string): void => {
  store(value)
  send({ type: "proof", proof: value })
}

/** `everywhere` if the person signs out: the other tabs drop theirs. */
export const dropProof = (everywhere: boolean): void => {
  sessionStorage.removeItem(key)
  if (everywhere) send({ type: "ended" })
}

/** Milliseconds that a new tab waits for the answer of an open one. */
const patience = 250

/** The proof of this tab, or that of an open one. */
export const findProof = (): Promise<string | undefined> => {
  const own = stored()
  if (own !== undefined) return Promise.resolve(own)
  return new Promise((resolve) => {
    const done = (found: string | undefined) => {
      stop()
      clearTimeout(timer)
      if (found !== undefined) store(found)
      resolve(found)
    }
    const stop = listen((message) => {
      if (message.type === "proof") done(message.proof)
    })
    const timer = setTimeout(done, patience, undefined)
    send({ type: "ask" })
  })
}

/** Answers new tabs, and follows what other tabs do. `onChange` gets the new proof, or `undefined` after a sign-out. */
export const shareProof = (onChange: (proof: string | undefined) => void): void => {
  listen((message) => {
    const own = stored()
    if (message.type === "ask" && own !== undefined) send({ type: "proof", proof: own })
    if (message.type === "ended" && own !== undefined) {
      sessionStorage.removeItem(key)
      onChange(undefined)
    }
    if (message.type === "proof" && hasHadOne && own !== message.proof) {
      store(message.proof)
      onChange(message.proof)
    }
  })
}
