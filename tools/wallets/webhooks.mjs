// What the library of Standard Webhooks says about webhooks with the keys of their receivers. Prints one word for each.
import { Webhook } from "standardwebhooks"

const judge = ({ key, raw, headers, body }) => {
  try {
    new Webhook(key, raw ? { format: "raw" } : undefined).verify(body, headers)
    return "valid"
  } catch {
    return "refused"
  }
}

process.stdout.write(JSON.stringify(JSON.parse(process.argv[2]).map(judge)))
