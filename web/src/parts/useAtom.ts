// Atoms in components, and the addresses of pages.
import type { AsyncResult, Atom } from "effect/reactivity"
import { useLocation } from "preact-iso"
import { useEffect, useReducer, useRef } from "preact/hooks"
import { connection } from "../data/Connection.ts"
import type { Connection } from "../data/Connection.ts"
import type { Failure } from "../data/Failure.ts"
import { isAway } from "../data/Presence.ts"
import { registry } from "../data/Registry.ts"
import type { Query } from "../data/Registry.ts"
import { sessionState } from "../data/Session.ts"

/** The value of the atom. The component is drawn again when it changes. */
export const useAtom = <A>(atom: Atom.Atom<A>): A => {
  const [, draw] = useReducer((count: number) => count + 1, 0)
  useEffect(() => registry.subscribe(atom, draw, { immediate: true }), [atom])
  return registry.get(atom)
}

/** What a page shows of a query: the last value also after a failure, so that nothing disappears. */
export interface Shown<A> {
  readonly value?: A
  readonly failure?: Failure
  readonly isWaiting: boolean
  /** When the value was received. Milliseconds. */
  readonly at?: number
  readonly refresh: () => void
}

/** Live data is asked for this much less often after a minute without input. */
const slowdown = 6

const useInterval = (every: number | undefined, refresh: () => void, key: unknown) => {
  useEffect(() => {
    if (every === undefined) return
    let turn = 0
    const timer = setInterval(() => {
      turn += 1
      if (!document.hidden && (!isAway() || turn % slowdown === 0)) refresh()
    }, every)
    const atOnce = () => {
      if (!document.hidden) refresh()
    }
    document.addEventListener("visibilitychange", atOnce)
    addEventListener("online", atOnce)
    return () => {
      clearInterval(timer)
      document.removeEventListener("visibilitychange", atOnce)
      removeEventListener("online", atOnce)
    }
  }, [every, key])
}

/** Statuses of a service, or of a proxy in front of it, that cannot answer. 0: there was no response. */
const unreachable: ReadonlySet<number> = new Set([0, 503, 504])

/**
 * What has failed while the service could not be reached is asked for again as soon as it can. That may have been before this watches: a
 * response to another request arrived right behind the failure, or a page that shows the failure is opened later.
 */
const useRecovery = (failure: Failure | undefined, refresh: () => void, key: unknown) => {
  const isWaiting = failure !== undefined && unreachable.has(failure.status)
  useEffect(() => {
    if (!isWaiting) return
    let wasLost = true
    const refreshIfBack = ({ lostAt }: Connection) => {
      if (wasLost && lostAt === undefined) refresh()
      wasLost = lostAt !== undefined
    }
    return registry.subscribe(connection, refreshIfBack, { immediate: true })
  }, [isWaiting, key])
}

/** What was refused because the session had ended is asked for again after the next sign-in, in whichever tab that is. */
const useNextSession = (failure: Failure | undefined, refresh: () => void, key: unknown) => {
  const isRefused = failure?.status === 401
  useEffect(() => {
    if (!isRefused) return
    const refreshIfIn = () => {
      if (registry.get(sessionState).kind === "in") refresh()
    }
    return registry.subscribe(sessionState, refreshIfIn, { immediate: true })
  }, [isRefused, key])
}

const failureOf = <A>(result: AsyncResult.AsyncResult<A, Failure>): Failure | undefined => {
  if (result._tag !== "Failure") return undefined
  const [reason] = result.cause.reasons
  if (reason?._tag === "Fail") return reason.error
  return { _tag: "Failure", status: 0, text: String(reason?._tag === "Die" ? reason.defect : "") }
}

/** `every`: milliseconds between two requests while the page is visible. Without it, only `refresh` asks again. */
export const useQuery = <A>(query: Query<A>, every?: number): Shown<A> => {
  const result = useAtom(query)
  const failure = failureOf(result)
  const refresh = () => registry.refresh(query)
  useInterval(every, refresh, query)
  useRecovery(failure, refresh, query)
  useNextSession(failure, refresh, query)
  const shared = { isWaiting: result.waiting, refresh }
  if (result._tag === "Success") return { ...shared, value: result.value, at: result.timestamp }
  if (failure === undefined || result._tag !== "Failure") return { ...shared, isWaiting: true }
  const previous = result.previousSuccess._tag === "Some" ? result.previousSuccess.value : undefined
  return { ...shared, failure, ...(previous === undefined ? {} : { value: previous.value, at: previous.timestamp }) }
}

/** Whether each of the queries has been answered or refused once. A form that is shown then stays, whatever its lists do later. */
export const useAnswered = (...queries: ReadonlyArray<Shown<unknown>>): boolean => {
  const answered = useRef(false)
  answered.current ||= queries.every(({ value, failure }) => value !== undefined || failure !== undefined)
  return answered.current
}

/** Acts when the value has changed, not when the component is drawn first. */
export const useChange = (value: unknown, act: () => void): void => {
  const last = useRef(value)
  useEffect(() => {
    if (last.current === value) return
    last.current = value
    act()
  }, [value])
}

/** The time of the page, once a second. */
export const useSecond = (): void => {
  const [, tick] = useReducer((count: number) => count + 1, 0)
  useEffect(() => {
    const timer = setInterval(tick, 1_000)
    return () => clearInterval(timer)
  }, [])
}

/** Parameters of the address. A change of a filter leads back to the first page. */
export const useSearch = () => {
  const { url, path, route } = useLocation()
  const parameters = new URLSearchParams(url.split("?")[1] ?? "")
  const href = (changes: Readonly<Record<string, string | undefined>>) => {
    const next = new URLSearchParams(parameters)
    if (!("cursor" in changes)) next.delete("cursor")
    for (const [name, value] of Object.entries(changes)) {
      if (value === undefined || value === "") next.delete(name)
      else next.set(name, value)
    }
    const text = next.toString()
    return text === "" ? path : `${path}?${text}`
  }
  return { parameters, href, set: (changes: Readonly<Record<string, string | undefined>>) => route(href(changes)) }
}
