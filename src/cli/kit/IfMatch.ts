// The condition of a change: the entity tag that a resource must still have.
import { Option } from "effect"
import { Flag } from "effect/cli"
import * as Field from "./Field.ts"

/** `--if-match 12.3` means `--if-match '"12.3"'`. */
export const flag = Field.text("if_match").pipe(
  Flag.withDescription("Entity tag that the resource must still have; get prints it"),
  Flag.map(Option.map((tag) => (/^[\w.-]+$/.test(tag) ? `"${tag}"` : tag)))
)

export const headers = (tag: Option.Option<string>) => Field.given({ "if-match": tag })
