/**
 * Hides parts of messages that people read. It works on what a store returns, so that nothing that is stored
 * or sent changes. An error may quote the payload, so its message can be hidden too. If the user's function
 * throws, nothing is shown: a bug in it must not reveal what it was meant to hide.
 */
import type { AttemptRow, AuditRow, StoredMessage } from '../store/rows.ts'
import type { DeadGroupRow, OutboxStore } from '../store/store.ts'
import { parseJson, toHeaders } from './record.ts'

/** The parts of a message that a redaction may replace, and what it belongs to. */
interface RedactableMessage {
	readonly topic: string
	readonly destination: string
	readonly payload: unknown
	readonly headers: Readonly<Record<string, string>>
	/**
	 * The message of the latest error, or a text of an attempt: its error message or the excerpt of a response.
	 * It may quote the payload. Undefined without one.
	 */
	readonly errorMessage: string | undefined
}

/**
 * Hides parts of a message where people read it (`find`, `list`, `why`, `attempts`, `audit`, dead letters);
 * what is stored and sent does not change. It is the option `redact` of an `Outbox`; `redactFields` creates one.
 */
export type RedactMessage = (
	message: RedactableMessage,
) => Pick<RedactableMessage, 'payload' | 'headers' | 'errorMessage'>

const FAILED = '[redaction failed]'
const GONE = '[not shown: redaction needs the message, which is no longer stored]'

type Redacted = ReturnType<RedactMessage>

function apply(redact: RedactMessage, message: RedactableMessage): Redacted {
	try {
		const { payload, headers, errorMessage } = redact(message)
		// Read here, so that a getter or a payload that is not JSON cannot throw later.
		return JSON.parse(JSON.stringify({ payload: payload ?? null, headers: headers ?? {}, errorMessage }))
	} catch {
		const errorMessage = message.errorMessage === undefined ? undefined : FAILED
		return { payload: FAILED, headers: {}, errorMessage }
	}
}

/** What people read of messages. */
export type ShownStore = Pick<
	OutboxStore,
	'find' | 'list' | 'findPredecessor' | 'deadGroups' | 'audit' | 'attempts'
>

/** Returns the methods of the store that read messages, with redaction. */
export function withRedaction(store: OutboxStore, redact: RedactMessage | undefined): ShownStore {
	if (!redact) return store
	const shown = (message: StoredMessage): StoredMessage => redactMessage(message, redact)
	return {
		find: async (id) => {
			const message = await store.find(id)
			return message && shown(message)
		},
		findPredecessor: async (id) => {
			const message = await store.findPredecessor(id)
			return message && shown(message)
		},
		list: async (filter, limit, after) => (await store.list(filter, limit, after)).map(shown),
		deadGroups: async (filter, limit) => redactGroups(store, await store.deadGroups(filter, limit), redact),
		audit: async (filter, limit, before) =>
			(await store.audit(filter, limit, before)).map((row) => redactAudit(row, redact)),
		attempts: async (id, limit, after) =>
			redactAttempts(await store.find(id), await store.attempts(id, limit, after), redact),
	}
}

function redactMessage(message: StoredMessage, redact: RedactMessage): StoredMessage {
	const { topic, destination, error } = message
	const { payload, headers, errorMessage } = apply(redact, {
		topic,
		destination,
		payload: parseJson(message.payload),
		headers: toHeaders(message.headers),
		errorMessage: error?.message,
	})
	return {
		...message,
		payload: JSON.stringify(payload),
		headers: JSON.stringify(headers),
		error: error && { ...error, message: errorMessage ?? '' },
	}
}

/** A group shows the error of its oldest message. The payload of that message says what to hide in it. */
async function redactGroups(
	store: OutboxStore,
	groups: readonly DeadGroupRow[],
	redact: RedactMessage,
): Promise<readonly DeadGroupRow[]> {
	const ids = groups.map(({ exampleId }) => exampleId)
	const examples = ids.length === 0 ? [] : await store.list({ ids, status: 'dead' }, ids.length)
	const messages = new Map(examples.map((one) => [one.id, redactMessage(one, redact).error?.message]))
	return groups.map((group) => ({
		...group,
		// A message that was replayed in between is no longer there.
		errorMessage: group.errorMessage === null ? null : (messages.get(group.exampleId) ?? FAILED),
	}))
}

/** The payload of the message says what to hide. Without the message, no text is shown. */
function redactAttempts(
	message: StoredMessage | undefined,
	attempts: readonly AttemptRow[],
	redact: RedactMessage,
): readonly AttemptRow[] {
	const shown = (text: string | null): string | null => {
		if (text === null || message === undefined) return text && GONE
		const { topic, destination } = message
		const payload = parseJson(message.payload)
		const headers = toHeaders(message.headers)
		return apply(redact, { topic, destination, payload, headers, errorMessage: text }).errorMessage ?? ''
	}
	return attempts.map((attempt) => ({
		...attempt,
		errorMessage: shown(attempt.errorMessage),
		response: shown(attempt.response),
	}))
}

function redactAudit(row: AuditRow, redact: RedactMessage): AuditRow {
	const { destination, topic, changes } = row
	if (row.messageId === null || row.payload === null) return row
	const about = { topic: topic ?? '', destination, errorMessage: undefined }
	const original = apply(redact, {
		...about,
		payload: parseJson(row.payload),
		headers: toHeaders(row.headers),
	})
	return {
		...row,
		payload: JSON.stringify(original.payload),
		headers: JSON.stringify(original.headers),
		changes: changes === null ? null : redactChanges(changes, about, redact),
	}
}

function redactChanges(
	text: string,
	about: Omit<RedactableMessage, 'payload' | 'headers'>,
	redact: RedactMessage,
): string {
	const changes = Object(parseJson(text)) as { readonly payload?: unknown; readonly headers?: unknown }
	const { payload, headers } = apply(redact, {
		...about,
		payload: changes.payload,
		headers: toHeaders(JSON.stringify(changes.headers ?? null)),
	})
	return JSON.stringify({
		...changes,
		...('payload' in changes && { payload }),
		...('headers' in changes && { headers }),
	})
}

export const REDACTED = '[redacted]'

/** Shorter values occur in a text by accident, and replacing them would make it unreadable. */
const MIN_QUOTED_LENGTH = 3

/**
 * Returns a function for the outbox option `redact` that replaces these fields of payloads, at any depth, and
 * these headers by `[redacted]`. Names are compared without regard to case. Values of three or more
 * characters are also replaced in error messages.
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
