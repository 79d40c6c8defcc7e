// The filters of events, for those that arrive by the stream. The service filters lists by the same parameters.
import type { Event } from "../../../src/client/Client.ts"

type Filtered = Pick<Event, "type" | "resource_id" | "data">

const relayerOf = ({ data }: Filtered): unknown =>
  typeof data === "object" && data !== null && "relayer_id" in data ? data.relayer_id : undefined

/** Whether the event is about the relayer or about one of its transactions. */
export const isAboutRelayer = (event: Filtered, id: string): boolean =>
  event.type.startsWith("relayer.") ? event.resource_id === id : relayerOf(event) === id

export const matcherOf = (parameters: URLSearchParams): ((event: Filtered) => boolean) => {
  const types = parameters.getAll("type")
  const resource = parameters.get("resource_id")
  const relayer = parameters.get("relayer_id")
  return (event) =>
    (types.length === 0 || types.includes(event.type)) &&
    (resource === null || event.resource_id === resource) &&
    (relayer === null || isAboutRelayer(event, relayer))
}
