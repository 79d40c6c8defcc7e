// Whether the database is away, or too busy to answer.
import { SqlError } from "effect/sql"

const reasons = new Set(["ConnectionError", "AuthenticationError", "LockTimeoutError", "StatementTimeoutError"])

/**
 * SQLSTATEs that the driver does not sort: read-only (25006), out of resources, such as the disk (53), shut down, crashed,
 * starting up (57P01 to 57P03), a file that cannot be read or written (58030).
 */
const states = /^(25006|53...|57P0[1-3]|58030)$/

/** Of a query that was not at fault, and is worth another try. */
export const isUnavailable = (defect: unknown): boolean =>
  SqlError.isSqlError(defect) &&
  (reasons.has(defect.reason._tag) ||
    states.test(String((defect.reason.cause as { readonly code?: unknown } | null)?.code)))
