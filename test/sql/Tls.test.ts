// Connections by TLS, and to servers that refuse it. Programs that make certificates run by the clock of the machine.
import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { execFileSync, spawnSync } from "node:child_process"
import * as fs from "node:fs"
import * as net from "node:net"
import * as path from "node:path"
import * as tls from "node:tls"
import * as Sql from "../../src/sql/Sql.ts"
import { tlsOf } from "../../src/sql/Connection.ts"
import { folder } from "../../testkit/process/Folder.ts"

const of = (url: string) => tlsOf(Redacted.make(url))

/** The message that asks a server for TLS: length 8, code 80877103. */
const sslRequest = "0000000804d2162f"

/** A server that answers a request for TLS with `reply`. `received` contains the plain text that it received, in hex. */
const server = (reply: "N" | "S", secure?: tls.SecureContextOptions) =>
  Effect.acquireRelease(
    Effect.callback<{ readonly port: number; readonly received: Array<string>; readonly secured: Array<string> }>(
      (resume) => {
        const received: Array<string> = []
        const secured: Array<string> = []
        const listening = net.createServer((socket) => {
          socket.on("error", () => undefined)
          socket.once("data", (chunk) => {
            received.push(chunk.toString("hex"))
            socket.write(reply)
            if (secure === undefined) return
            const encrypted = new tls.TLSSocket(socket, { isServer: true, ...secure })
            encrypted.on("error", () => undefined)
            encrypted.once("data", (data: Buffer) => {
              secured.push(data.toString("latin1"))
              encrypted.destroy()
            })
          })
        })
        listening.listen(0, "127.0.0.1", () => {
          const { port } = listening.address() as net.AddressInfo
          resume(Effect.succeed({ port, received, secured, listening }))
        })
      }
    ),
    (made) => Effect.sync(() => void ("listening" in made && (made.listening as net.Server).close()))
  )

const connect = (url: string) =>
  Effect.scoped(Layer.build(Sql.layer({ _tag: "Url", url: Redacted.make(url) }))).pipe(Effect.flip, Effect.map(String))

const openssl = spawnSync("openssl", ["version"]).status === 0

/** A self-signed certificate for the host name `db.test`. */
const certificate = (home: string) => {
  const files = { key: path.join(home, "key.pem"), cert: path.join(home, "cert.pem") }
  const subject = ["-subj", "/CN=db.test", "-addext", "subjectAltName=DNS:db.test"]
  const options = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", ...subject]
  execFileSync("openssl", [...options, "-keyout", files.key, "-out", files.cert], { stdio: "ignore" })
  return { ...files, secure: { key: fs.readFileSync(files.key), cert: fs.readFileSync(files.cert) } }
}

describe("TLS to the database", () => {
  it.effect("is required, except on a socket and on loopback addresses", () =>
    Effect.gen(function* () {
      for (const url of [
        "postgres://u@localhost/db",
        "postgres://u@127.0.0.1:5433/db",
        "postgres://u@127.9.9.9/db",
        "postgres://u@[::1]/db",
        "postgres://u@localhost/db?host=%2Fvar%2Frun",
        "postgres://u@db.example.com/db?sslmode=disable"
      ]) {
        assert.strictEqual(yield* of(url), false, url)
      }
      for (const url of [
        "postgres://u@db.example.com/db",
        "postgres://u@10.0.0.1/db",
        "postgres://u@127.0.0.1.example.com/db",
        "postgres://u@localhost/db?host=db.example.com",
        "postgres://u@localhost/db?sslmode=require",
        "postgres://u@localhost/db?sslmode=verify-full&sslrootcert=system"
      ]) {
        assert.deepStrictEqual(yield* of(url), {}, url)
      }
      const ca = yield* of("postgres://u@h/db?sslmode=verify-ca")
      assert.isTrue(ca !== false && "checkServerIdentity" in ca)
    })
  )

  it.effect("refuses parameters that it does not know or that permit plain text", () =>
    Effect.gen(function* () {
      for (const [parameters, message] of [
        ["sslmode=prefer", "sslmode=prefer falls back to plain text"],
        ["sslmode=allow", "sslmode=allow falls back to plain text"],
        ["sslmode=on", "sslmode must be one of disable, require, verify-ca, verify-full"],
        ["sslcrl=/x", "sslcrl is not supported"],
        ["ssl=true", "ssl is not supported"],
        ["sslrootcert=/no/such/file", "cannot read sslrootcert /no/such/file"]
      ] as const) {
        const error = yield* Effect.flip(of(`postgres://u:secret@h/db?${parameters}`))
        assert.include(error.message, message)
        assert.notInclude(error.message, "secret")
      }
    })
  )

  // The system connects 0.0.0.0 to this machine, but it is not a loopback address.
  it.live("sends nothing in plain text to a server that refuses TLS", () =>
    Effect.gen(function* () {
      const { port, received } = yield* server("N")
      const error = yield* connect(`postgres://relayer:password@0.0.0.0:${port}/db`)
      assert.include(error, "does not support TLS")
      assert.deepStrictEqual(new Set(received), new Set([sslRequest]))
    }).pipe(Effect.scoped)
  )

  it.live.skipIf(!openssl)("trusts the certificates of sslrootcert and no others, and checks the host name", () =>
    Effect.gen(function* () {
      const { cert, secure } = certificate(yield* folder)
      const { port, secured } = yield* server("S", secure)
      const url = (parameters: string) => `postgres://relayer:password@0.0.0.0:${port}/db?${parameters}`
      assert.include(yield* connect(url("sslmode=require")), "self-signed certificate")
      assert.include(yield* connect(url(`sslmode=verify-full&sslrootcert=${encodeURIComponent(cert)}`)), "altnames")
      assert.isEmpty(secured)
      yield* connect(url(`sslmode=verify-ca&sslrootcert=${encodeURIComponent(cert)}`))
      assert.isAbove(secured.length, 0)
      assert.include(secured[0], "relayer")
    }).pipe(Effect.scoped)
  )
})
