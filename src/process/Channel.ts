// Questions and answers between two processes over Node's IPC: those of one turn of the event loop travel as one message.
import { Cause, Effect, Exit, Schema } from "effect"

/** The other process is gone, or has closed the channel. */
class ChannelClosed extends Schema.TaggedError<ChannelClosed>()("ChannelClosed", {}) {}

/** Everything that is asked, by name, as JSON can carry it. */
export type Contract<C> = { readonly [N in keyof C]: { readonly question: unknown; readonly answer: unknown } }

export type Handlers<C extends Contract<C>> = {
  readonly [N in keyof C]: (question: C[N]["question"]) => Effect.Effect<C[N]["answer"]>
}

/** `process` in a worker, its child process in the primary. */
export interface Port {
  readonly connected: boolean
  send?(message: unknown, handle: undefined, options: undefined, callback: (error: Error | null) => void): boolean
  on(event: "message", listener: (message: unknown) => void): void
  once(event: "disconnect", listener: () => void): void
}

export interface Channel<Asked extends Contract<Asked>, Answered extends Contract<Answered>> {
  /** Waits for as long as the other process lives. */
  ask<N extends keyof Asked & string>(
    name: N,
    question: Asked[N]["question"]
  ): Effect.Effect<Asked[N]["answer"], ChannelClosed>
  /** What is asked of this side; a name without a handler is not answered until it has one. */
  answer(handlers: Partial<Handlers<Answered>>): Effect.Effect<void>
  readonly closed: Effect.Effect<void>
}

type Question = readonly [kind: "question", id: number, name: string, question: unknown]
type Answer =
  | readonly [kind: "answer", id: number, answer: unknown]
  | readonly [kind: "failure", id: number, why: string]
type Line = Question | Answer

const isLines = (message: unknown): message is ReadonlyArray<Line> => Array.isArray(message)

type Resume = (exit: Exit.Exit<unknown, ChannelClosed>) => void

const closed = Exit.fail(new ChannelClosed({}))

export const make = <Asked extends Contract<Asked>, Answered extends Contract<Answered>>(
  port: Port
): Effect.Effect<Channel<Asked, Answered>> =>
  Effect.map(Effect.context<never>(), (context) => {
    const run = Effect.runCallbackWith(context)
    const waiting = new Map<number, Resume>()
    const unanswered: Array<Question> = []
    let handlers: Partial<Handlers<Answered>> = {}
    let outbox: Array<Line> = []
    let lastId = 0

    const flush = () => {
      const lines = outbox
      outbox = []
      // Whoever waits for an answer hears of a closed channel by itself.
      if (port.connected) port.send?.(lines, undefined, undefined, () => undefined)
    }
    const post = (line: Line) => {
      if (outbox.push(line) === 1) setImmediate(flush)
    }

    const receive = (line: Line) => {
      if (line[0] === "question") return reply(line)
      const resume = waiting.get(line[1])
      waiting.delete(line[1])
      resume?.(line[0] === "answer" ? Exit.succeed(line[2]) : Exit.die(new Error(line[2])))
    }
    const reply = (line: Question) => {
      const [, id, name, question] = line
      const handler = handlers[name as keyof Answered]
      if (handler === undefined) return void unanswered.push(line)
      run(handler(question as Answered[keyof Answered]["question"]), {
        onExit: (exit) =>
          post(Exit.isSuccess(exit) ? ["answer", id, exit.value] : ["failure", id, String(Cause.squash(exit.cause))])
      })
    }

    const close = () => {
      for (const resume of waiting.values()) resume(closed)
      waiting.clear()
    }
    port.on("message", (message) => {
      if (isLines(message)) message.forEach(receive)
    })
    port.once("disconnect", close)

    return {
      ask: (name, question) =>
        Effect.callback((resume) => {
          if (!port.connected) return resume(closed)
          const id = ++lastId
          waiting.set(id, (exit) => resume(exit))
          post(["question", id, name, question])
          return Effect.sync(() => waiting.delete(id))
        }),
      answer: (more) =>
        Effect.sync(() => {
          handlers = { ...handlers, ...more }
          unanswered.splice(0).forEach(reply)
        }),
      closed: Effect.callback<void>((resume) => {
        if (!port.connected) return resume(Effect.void)
        port.once("disconnect", () => resume(Effect.void))
      })
    }
  })
