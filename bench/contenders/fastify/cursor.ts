// Authenticated cursors. A cursor contains the sequence number of the last relayer, the page number and the total.
import { createHmac, timingSafeEqual } from "node:crypto"
import { Failure } from "./failures.ts"

export interface Place {
  readonly seq: number
  readonly page: number
  readonly total: number
}

const macLength = 16

export const cursors = (secret: string) => {
  const mac = (payload: string) => createHmac("sha256", secret).update(payload).digest().subarray(0, macLength)

  const make = ({ seq, page, total }: Place): string => {
    const payload = JSON.stringify([seq, page, total])
    return Buffer.concat([mac(payload), Buffer.from(payload)]).toString("base64url")
  }

  const read = (cursor: string): Place => {
    const bytes = Buffer.from(cursor, "base64url")
    const payload = bytes.subarray(macLength).toString()
    const given = bytes.subarray(0, macLength)
    if (given.length !== macLength || !timingSafeEqual(given, mac(payload))) {
      throw new Failure(400, "Bad Request", "cursor: does not belong to this list; restart without a cursor")
    }
    const [seq, page, total] = JSON.parse(payload)
    return { seq, page, total }
  }

  return { make, read }
}
