/** The redaction that most outboxes need: fields by name, wherever they are, and their values where an error quotes them. */
import type { RedactMessage } from './redact.ts'

export const REDACTED = '[redacted]'

/** Shorter values occur in a text by accident, and replacing them would make it unreadable. */
const MIN_QUOTED_LENGTH = 3

/**
 * Returns a function for the outbox option `redact` that replaces these fields of payloads, at any depth, and these headers by `[redacted]`. Names are
 * compared without regard to case. Values of three or more characters are also replaced in error messages.
 *
 * @example
 * const outbox = new Outbox({ store, redact: redactFields(['email', 'authorization']) })
 */
export function redactFields(names: readonly string[]): RedactMessage {
	const hidden = new Set(names.map((name) => name.toLowerCase()))
	const isHidden = (name: string): boolean => hidden.has(name.toLowerCase())
	return ({ payload, headers, errorMessage }) => {
		const values = new Set<string>()
		const copy = (value: unknown, isInside: boolean): unknown => {
			if (typeof value !== 'object' || value === null) {
				if (isInside) values.add(String(value))
				return value
			}
			if (Array.isArray(value)) return value.map((item) => copy(item, isInside))
			const members = Object.entries(value).map(([name, item]) => {
				const isSecret = isHidden(name)
				const copied = copy(item, isInside || isSecret)
				return [name, isSecret ? REDACTED : copied] as const
			})
			return Object.fromEntries(members)
		}
		const shown = { payload: copy(payload, false), headers: copy(headers, false) as typeof headers }
		return { ...shown, errorMessage: errorMessage && withoutValues(errorMessage, values) }
	}
}

function withoutValues(text: string, values: ReadonlySet<string>): string {
	let rest = text
	for (const value of values) {
		if (value.length < MIN_QUOTED_LENGTH) continue
		// An error that quotes JSON has the escapes of JSON.
		for (const quoted of [value, JSON.stringify(value).slice(1, -1)]) rest = withoutValue(rest, quoted)
	}
	return rest
}

/** Stored errors are truncated, so the text may end within the value. */
function withoutValue(text: string, value: string): string {
	const rest = text.replaceAll(value, REDACTED)
	for (let length = Math.min(value.length - 1, rest.length); length >= MIN_QUOTED_LENGTH; length--)
		if (rest.endsWith(value.slice(0, length))) return rest.slice(0, -length) + REDACTED
	return rest
}
