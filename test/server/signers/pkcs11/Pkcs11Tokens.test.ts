// What a token is asked, and how often, with a library that only keeps a PIN.
import { assert, describe, it } from "@effect/vitest"
import { flags, results } from "../../../../packages/signer-pkcs11/src/Cryptoki.ts"
import type { Cryptoki } from "../../../../packages/signer-pkcs11/src/Cryptoki.ts"
import * as Tokens from "../../../../packages/signer-pkcs11/src/Tokens.ts"

const handle = Buffer.alloc(8)

const failure = (code: number) => Object.assign(new Error("of the library"), { code })

/** A token without keys, whose sessions end when `unplug` is called. */
const makeToken = () => {
  const token = {
    pin: "1234",
    asked: 0,
    flags: 0,
    opened: 0,
    isLoggedIn: false,
    error: undefined as number | undefined,
    ms: 0,
    now: 0
  }
  const library: Cryptoki = {
    load: () => undefined,
    C_Initialize: () => undefined,
    C_GetSlotList: () => [handle],
    C_GetTokenInfo: () => ({ label: "relayer", serialNumber: "0001", flags: token.flags }),
    C_OpenSession: () => {
      token.opened++
      token.now += token.ms
      if (token.error !== undefined) throw failure(token.error)
      return handle
    },
    C_CloseSession: () => undefined,
    C_Login: (_session, _user, pin) => {
      token.asked++
      if (token.isLoggedIn) throw failure(results.alreadyLoggedIn)
      if (pin !== token.pin) throw failure(results.pinIncorrect)
      token.isLoggedIn = true
    },
    C_FindObjectsInit: () => undefined,
    C_FindObjects: () => [],
    C_FindObjectsFinal: () => undefined,
    C_GetAttributeValue: () => [],
    C_SignInit: () => undefined,
    C_SignAsync: () => Promise.resolve(Buffer.alloc(64))
  }
  const { use } = Tokens.make(
    library,
    Tokens.makePause(() => token.now)
  )
  const call = (pin: string, work = () => Promise.resolve("done")) =>
    use({ token_label: "relayer", token_serial: "0001" }, { pin, isNew: true }, work).catch((error: Error) =>
      "code" in error ? `code ${String(error.code)}` : error.message
    )
  const unplug = async () => {
    token.isLoggedIn = false
    await call(token.pin, () => Promise.reject(failure(results.deviceRemoved)))
  }
  return { token, call, unplug }
}

describe("a token", () => {
  it("that has accepted a PIN is asked about no other, also while nobody is logged in", async () => {
    const { call, token, unplug } = makeToken()
    assert.strictEqual(await call("1234"), "done")
    await unplug()
    const before = token.asked
    for (const pin of ["1111", "2222", "3333"]) assert.match(await call(pin), /has accepted another PIN/)
    assert.strictEqual(token.asked, before)
    assert.strictEqual(await call("1234"), "done")
  })

  it("is not asked twice about a PIN that it has refused", async () => {
    const { call, token } = makeToken()
    assert.strictEqual(await call("9999"), `code ${results.pinIncorrect}`)
    assert.match(await call("9999"), /has refused this PIN/)
    assert.strictEqual(token.asked, 1)
  })

  it("that is locked, or that one more failure would lock, is not asked", async () => {
    for (const [flag, message] of [
      [flags.locked, /the PIN of the token is locked/],
      [flags.finalTry, /one more wrong PIN would lock the token/]
    ] as const) {
      const { call, token } = makeToken()
      token.flags = flag
      assert.match(await call("1234"), message)
      assert.strictEqual(token.asked, 0)
    }
  })

  it("with one try left is asked about the PIN that it has accepted before", async () => {
    const { call, token, unplug } = makeToken()
    await call("1234")
    await unplug()
    token.flags = flags.finalTry
    assert.strictEqual(await call("1234"), "done")
  })

  it("whose PIN was changed is asked about the new one", async () => {
    const { call, token, unplug } = makeToken()
    assert.strictEqual(await call("1234"), "done")
    await unplug()
    token.pin = "5678"
    assert.strictEqual(await call("1234"), `code ${results.pinIncorrect}`)
    assert.strictEqual(await call("5678"), "done")
  })

  it("whose library blocks the service and fails is left alone for a minute", async () => {
    const { call, token } = makeToken()
    Object.assign(token, { ms: 5000, error: results.deviceError })
    assert.strictEqual(await call("1234"), `code ${results.deviceError}`)
    assert.match(await call("1234"), /is left alone for a minute/)
    assert.strictEqual(token.opened, 1)
    Object.assign(token, { now: token.now + 60_000, error: undefined })
    assert.strictEqual(await call("1234"), "done")
  })

  it("whose library fails fast is asked again at once", async () => {
    const { call, token } = makeToken()
    token.error = results.deviceError
    await call("1234")
    token.error = undefined
    assert.strictEqual(await call("1234"), "done")
  })

  it("that is slow and refuses a PIN is not left alone, because a caller could cause that", async () => {
    const { call, token } = makeToken()
    token.ms = 5000
    assert.strictEqual(await call("9999"), `code ${results.pinIncorrect}`)
    assert.strictEqual(await call("1234"), "done")
  })
})
