// The console: transactions and relayers of solana and stellar in every state and with every code, and what a person does with them.
// The bundle of the console in its window runs by the clock of the machine.
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { HealthCode } from "../../src/domain/health/HealthExplanation.ts"
import { HealthStatus } from "../../src/domain/health/ListedHealth.ts"
import { codesOf, finals, states, types, wordsOf } from "../../testkit/console/SpokenCodes.ts"
import type { Type } from "../../testkit/console/SpokenCodes.ts"
import { isLong } from "../../testkit/Depth.ts"
import { ConsoleWindow, Whole, objectOf, textOf, transactionIds } from "../../testkit/ConsoleWindow.ts"
import type { Answer, Shown } from "../../testkit/ConsoleWindow.ts"

const idOf = (index: number) => `00000000-0000-4000-8000-${String(index).padStart(12, "0")}`

/** A sentence as the page shows it: names between backticks are code elements. */
const plain = (sentence: string) => sentence.replaceAll("`", "")

const namesIn = (sentence: string) => sentence.split("`").filter((_, index) => index % 2 === 1)

const saidOn = ({ document }: Shown) => document.querySelector(".say") ?? assert.fail("nothing is said")

const healthStates = HealthStatus.literals

/** Each state and each code; in the long form, each state with each code. */
const healthPairs = healthStates.flatMap((state, turn) =>
  HealthCode.literals
    .filter((_, index) => isLong || index % healthStates.length === turn)
    .map((code) => ({ state, code }))
)

interface Coded {
  readonly id: string
  readonly status: string
  readonly code: string
}

/** A transaction for each code. The states take turns. */
const codedOf = (type: Type): ReadonlyArray<Coded> =>
  codesOf(type).map((code, index) => ({ id: idOf(index), code, status: states[index % states.length] ?? "" }))

/** Each transaction of the relayer, with its explanation. */
const transactions =
  (type: Type, recorded: object, coded: ReadonlyArray<Coded>): Answer =>
  ({ method, path }) => {
    const [, id = "", explain] =
      new RegExp(`^/api/v1/relayers/dev-${type}/transactions/([^/]+)(/explain)?$`).exec(path) ?? []
    const one = coded.find((each) => each.id === id)
    if (one === undefined || method !== "GET") return undefined
    if (explain === undefined) return { ...recorded, ...one }
    const { code, status } = one
    return {
      status,
      code,
      ...wordsOf(type, code, status),
      figures: {},
      since: "2026-01-02T03:04:05.678Z",
      ...(finals.includes(status) ? {} : { next_at: "2036-01-02T03:04:05.678Z" })
    }
  }

layer(ConsoleWindow.layer, { excludeTestServices: true })("the console", (it) => {
  for (const type of types) {
    const relayer = `dev-${type}`
    const transactionPath = `/api/v1/relayers/${relayer}/transactions/${transactionIds[type]}`

    it.effect(
      `shows transactions of ${type} in every state and with every code, with the sentences of the service`,
      () =>
        Effect.gen(function* () {
          const { open, recorded } = yield* ConsoleWindow
          const coded = codedOf(type)
          assert.isAbove(coded.length, 40)
          const shown = yield* open({ answer: transactions(type, objectOf(recorded(transactionPath)), coded) })
          yield* Effect.promise(async () => {
            for (const { id, code, status } of coded) {
              const words = wordsOf(type, code, status)
              await shown.goto(`transactions/${id}?relayer=${relayer}`)
              await shown.shows(plain(words.reason), ".say b bdi")
              const said = saidOn(shown)
              assert.include(textOf(said), plain(words.next), code)
              const names = shown.all("bdi code", said).map(textOf)
              assert.includeMembers(names, namesIn(words.next))
              assert.include(textOf(said), code)
              assert.isEmpty(shown.all(".failed"), code)
              assert.isEmpty(shown.named("button", "Speed up"))
              const cancel = shown.all("button").find((button) => textOf(button).startsWith("Cancel…"))
              assert.strictEqual(
                cancel?.getAttribute("aria-disabled"),
                String([...finals, "mined"].includes(status)),
                status
              )
            }
            assert.deepStrictEqual(shown.problems, [])
          })
        })
    )

    it.effect(`lists transactions of ${type} with every code, and what needs attention about them`, () =>
      Effect.gen(function* () {
        const { open, recorded } = yield* ConsoleWindow
        const coded = codedOf(type)
        const items = coded.map(({ code }) => ({
          kind: "held",
          code,
          relayers: { count: 1, disabled: 0, degraded: 0, ids: [relayer] },
          transactions: { count: 2 },
          ...wordsOf(type, code, "pending")
        }))
        const rows = coded.map((one) => ({ ...objectOf(recorded(transactionPath)), ...one }))
        const shown = yield* open({
          answer: ({ path }) => {
            if (path === "/api/v1/transactions") return rows
            return path === "/api/v1/attention" ? items : undefined
          }
        })
        yield* Effect.promise(async () => {
          for (const route of ["transactions", `relayers/${relayer}/transactions`]) {
            await shown.goto(route)
            await shown.until("all rows", () => shown.all("tbody tr").length === rows.length)
            assert.includeMembers(
              shown.all("tbody tr code").map(textOf),
              coded.map(({ code }) => code)
            )
            const head = textOf(shown.document.querySelector("thead"))
            if (type === "stellar") assert.notInclude(head, "Nonce", "a place on stellar is a sequence")
          }
          await shown.goto("")
          const attention = await shown.until("the items", () => shown.region("Needs attention"))
          await shown.until("each item", () => shown.all(".att", attention).length === items.length)
          const said = shown.all(".att bdi", attention).map(textOf)
          for (const { reason, next } of items) assert.includeMembers(said, [plain(reason), plain(next)])
          assert.deepStrictEqual(shown.problems, [])
        })
      })
    )

    it.effect(`shows relayers of ${type} in every state and with every code, on their page and in the list`, () =>
      Effect.gen(function* () {
        const { open, recorded } = yield* ConsoleWindow
        const data = objectOf(recorded(`/api/v1/relayers/${relayer}`))
        const healths = healthPairs.map((health, index) => ({
          ...health,
          id: `${relayer}-${index}`,
          name: `${health.state} ${health.code}`
        }))
        const said = ({ state, code }: (typeof healths)[number]) => ({
          reason: `Why: ${code}.`,
          next: `What comes after ${state}.`
        })
        const rows = healths.map(({ id, name, state, code }) => ({
          ...data,
          id,
          name,
          system_disabled: state === "disabled",
          health: { state, code, open: 1 }
        }))
        const shown = yield* open({
          answer: ({ path }) => {
            if (path === "/api/v1/relayers") {
              const pagination = { current_page: 1, per_page: 100, total_items: rows.length }
              return new Whole({ success: true, data: rows, pagination })
            }
            const [, id = "", part = ""] = /^\/api\/v1\/relayers\/([^/]+)(?:\/([a-z]+))?$/.exec(path) ?? []
            const one = healths.find((each) => each.id === id)
            if (one === undefined) return undefined
            const { state, code } = one
            if (part === "") return { ...data, id, name: one.name }
            if (part !== "explain") return recorded(`/api/v1/relayers/${relayer}/${part}`)
            return { state, code, ...said(one), paused: false, next_at: "2036-01-02T03:04:05.678Z" }
          }
        })
        yield* Effect.promise(async () => {
          for (const health of healths) {
            await shown.goto(`relayers/${health.id}`)
            await shown.shows(said(health).reason, ".say b bdi")
            assert.include(textOf(saidOn(shown)), said(health).next)
            assert.include(textOf(saidOn(shown)), health.code)
            assert.isEmpty(shown.all(".failed"), health.code)
          }
          await shown.goto("relayers")
          await shown.until("all rows", () => shown.all("tbody tr").length === rows.length)
          const listed = textOf(shown.document.querySelector("tbody"))
          for (const { name } of rows) assert.include(listed, name)
          assert.deepStrictEqual(shown.problems, [])
        })
      })
    )

    it.effect(`cancels a transaction of ${type} and sends an operator's decision, each after a question`, () =>
      Effect.gen(function* () {
        const { open, recorded } = yield* ConsoleWindow
        const code = type === "solana" ? "landing_unproven" : "restored_unproven"
        const coded: Coded = { id: idOf(1), status: "submitted", code }
        const kept = objectOf(recorded(transactionPath))
        const answer = transactions(type, kept, [coded])
        const shown = yield* open({
          answer: (asked) => {
            if (asked.method === "GET") return answer(asked)
            return asked.method === "DELETE" ? { ...kept, ...coded } : { transaction_ids: [coded.id] }
          }
        })
        yield* Effect.promise(async () => {
          await shown.goto(`transactions/${coded.id}?relayer=${relayer}`)
          for (const [button, sentence, action] of [
            ["Send again", "cannot prove whether this transaction was executed", "Send again"],
            ["Give up", "ends as failed", "Give up"],
            ["Cancel…", "The service signs nothing new for it.", "Cancel transaction"]
          ] as const) {
            await shown.click(await shown.until(button, () => shown.named("button", button)[0]))
            const dialog = await shown.until("a question", () => shown.document.querySelector("dialog[open]"))
            assert.include(textOf(dialog), sentence)
            const [choice] = shown.named("button", action, dialog)
            await shown.click(choice ?? assert.fail(action))
            await shown.until("the end of the question", () => shown.document.querySelector("dialog") === null)
          }
          const path = `/api/v1/relayers/${relayer}`
          assert.deepStrictEqual(
            shown.asked.map((asked) => [asked.method, asked.path, asked.body]),
            [
              ["POST", `${path}/nonce/resync`, { answer: "send", transaction_id: coded.id }],
              ["POST", `${path}/nonce/resync`, { answer: "give_up", transaction_id: coded.id }],
              ["DELETE", `${path}/transactions/${coded.id}`, undefined]
            ]
          )
          assert.deepStrictEqual(shown.problems, [])
        })
      })
    )
  }
})
