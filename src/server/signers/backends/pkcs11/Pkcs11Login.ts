// Logs in to tokens without ever locking one. All sessions of a process share the login to a token, whoever opened them.
import * as crypto from "node:crypto"
import { codeOf, unavailable } from "./Pkcs11Failures.ts"
import { flags, results, user } from "./Cryptoki.ts"
import type { Cryptoki, Handle } from "./Cryptoki.ts"

/** What this process knows about the PIN of one token, as digests under a key of the process. */
export interface PinMemory {
  accepted: Buffer | undefined
  readonly refused: Set<string>
}

export const makeMemory = (): PinMemory => ({ accepted: undefined, refused: new Set() })

const secret = crypto.randomBytes(32)

const digestOf = (pin: string) => crypto.createHmac("sha256", secret).update(pin).digest()

const isRefusal = (code: number | undefined) =>
  code === results.pinIncorrect || code === results.pinInvalid || code === results.pinLength

const isAccepted = (digest: Buffer, { accepted }: PinMemory) =>
  accepted !== undefined && crypto.timingSafeEqual(digest, accepted)

const check = (digest: Buffer, memory: PinMemory) => {
  if (!isAccepted(digest, memory)) {
    throw unavailable("login", "the service is logged in to the token with another PIN")
  }
}

/** While the process is logged in, the token asks for no PIN: so the PIN is compared with the one that the token accepted. */
export const checkPin = (pin: string, memory: PinMemory): void => check(digestOf(pin), memory)

/** A PIN that the token has refused is not tried again, and no new one if one more failure would lock the token. */
export const logIn = (library: Cryptoki, session: Handle, tokenFlags: number, pin: string, memory: PinMemory): void => {
  const digest = digestOf(pin)
  if (memory.refused.has(digest.toString("hex"))) {
    throw unavailable("login", "the token has refused this PIN, which is not tried again until the service restarts")
  }
  if ((tokenFlags & flags.locked) !== 0) throw unavailable("login", "the PIN of the token is locked")
  if ((tokenFlags & flags.finalTry) !== 0 && !isAccepted(digest, memory)) {
    throw unavailable("login", "one more wrong PIN would lock the token: log in to it with another program first")
  }
  try {
    library.C_Login(session, user, pin)
    memory.accepted = digest
  } catch (error) {
    if (codeOf(error) === results.alreadyLoggedIn) return check(digest, memory)
    if (isRefusal(codeOf(error))) memory.refused.add(digest.toString("hex"))
    throw error
  }
}
