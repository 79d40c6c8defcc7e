// Derives keys from passphrases in a worker thread, so that the main thread stays responsive, and the work ends when its
// request does.
import { Context, Effect, Layer, Semaphore } from "effect"
import { Worker } from "node:worker_threads"

interface Secret {
  readonly passphrase: string
  readonly salt: Uint8Array
}

/** `n`, `r` and `p` as RFC 7914 names them. */
interface Scrypt extends Secret {
  readonly kdf: "scrypt"
  readonly n: number
  readonly r: number
  readonly p: number
}

/** With HMAC-SHA-256 (RFC 8018); `c` is the number of iterations. */
interface Pbkdf2 extends Secret {
  readonly kdf: "pbkdf2"
  readonly c: number
}

export type Derivation = Scrypt | Pbkdf2

/** TypeScript when Node runs the sources, JavaScript in the package, where both files are neighbours as well. */
const file = new URL(`./deriveKey${import.meta.url.endsWith(".ts") ? ".ts" : ".js"}`, import.meta.url)

/** The thread gets no copy of the environment, which may hold the keys of the service. */
const start = (derivation: Derivation) =>
  Effect.sync(() => new Worker(file, { workerData: derivation, env: {}, execArgv: [] }))

const result = (thread: Worker) =>
  Effect.callback<Uint8Array>((resume) => {
    thread.once("message", (key: Uint8Array) => resume(Effect.succeed(key)))
    thread.once("error", (error) => resume(Effect.die(error)))
    thread.once("exit", (code) => resume(Effect.die(new Error(`the thread ended with code ${code}`))))
  })

/** Waits until the thread has ended. OpenSSL finishes the derivation that it has begun, which takes a second or two. */
const stop = (thread: Worker) => Effect.promise(() => thread.terminate())

export class KeyDerivation extends Context.Service<
  KeyDerivation,
  {
    /** 32 bytes. One derivation runs at a time, because each fills up to 256 MiB; the others wait in order. */
    derive(derivation: Derivation): Effect.Effect<Uint8Array>
  }
>()("effect-relayer/threads/KeyDerivation") {
  static readonly layer = Layer.effect(
    KeyDerivation,
    Effect.map(Semaphore.make(1), (turn) =>
      KeyDerivation.of({
        derive: (derivation) => turn.withPermit(Effect.acquireUseRelease(start(derivation), result, stop))
      })
    )
  )
}
