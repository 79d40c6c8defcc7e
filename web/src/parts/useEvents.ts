// Events in components: a tail that can be paused, and objects that are asked for again after an event about them.
import { useEffect, useReducer, useRef } from "preact/hooks"
import { follow } from "../data/EventStream.ts"
import type { Event, Follower } from "../data/EventStream.ts"
import { may, sessionState } from "../data/Session.ts"
import { arrived, empty, frame, resumed } from "../data/Tail.ts"
import type { Tail } from "../data/Tail.ts"
import { useAtom } from "./useAtom.ts"

/** Follows while the component is on the screen, if the session may read events. */
const useFollower = (follower: Follower, isOn: boolean): void => {
  const latest = useRef(follower)
  latest.current = follower
  const isFollowing = may(useAtom(sessionState), "events:read") && isOn
  useEffect(() => {
    if (!isFollowing) return
    return follow({
      onEvents: (events) => latest.current.onEvents(events),
      onOpened: () => latest.current.onOpened()
    })
  }, [isFollowing])
}

interface TailProps {
  readonly matches: (event: Event) => boolean
  readonly isPaused: boolean
  /** Without it, the component has an older page of events. */
  readonly isOn: boolean
  /** Asks for the list again, because events may be missing. */
  readonly refresh: () => void
}

/** The events that have arrived since the component is on the screen. */
export const useTail = ({ matches, isPaused, isOn, refresh }: TailProps): Tail<Event> => {
  const tail = useRef<Tail<Event>>(empty)
  const pending = useRef<Array<Event>>([])
  const [, draw] = useReducer<number, void>((count) => count + 1, 0)
  const pausing = useRef(isPaused)
  if (pausing.current && !isPaused) tail.current = resumed(tail.current)
  pausing.current = isPaused
  useFollower({ onEvents: (events) => pending.current.push(...events.filter(matches)), onOpened: refresh }, isOn)
  useEffect(() => {
    const timer = setInterval(() => {
      if (pending.current.length === 0) return
      tail.current = arrived(tail.current, pending.current.splice(0), pausing.current)
      draw()
    }, frame)
    return () => clearInterval(timer)
  }, [])
  return tail.current
}

/** Milliseconds between two requests for an object because of events about it. */
const rest = 1_000

/** Asks for an object again after an event about it, and when the stream has begun again. */
export const useEventsAbout = (matches: (event: Event) => boolean, refresh: () => void): void => {
  const latest = useRef(refresh)
  latest.current = refresh
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined)
  const soon = () => {
    timer.current ??= setTimeout(() => {
      timer.current = undefined
      latest.current()
    }, rest)
  }
  useFollower(
    {
      onEvents: (events) => {
        if (events.some(matches)) soon()
      },
      onOpened: soon
    },
    true
  )
  useEffect(() => () => clearTimeout(timer.current), [])
}
