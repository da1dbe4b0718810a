/** The form of each action on the command line, to copy into a shell. */
import type { ActionForm, MessageStatus, Selection } from '../contract.ts'
import type { QueueAction } from '../parts.ts'

/** Characters that a terminal may act on when they are pasted, such as Ctrl-C, and those that hide what a command does. */
const UNSAFE = /[\p{Cf}\u2028\u2029]|(?!\n)\p{Cc}/u

const BYTES = new TextEncoder()

/** Returns the text as one word of a POSIX shell. */
function shellQuote(text: string): string {
	if (/^[\w@%+=:,./-]+$/.test(text)) return text
	if (!UNSAFE.test(text)) return `'${text.replaceAll("'", "'\\''")}'`
	const escaped = Array.from(text, (char) => {
		if (char === "'" || char === '\\') return `\\${char}`
		if (!UNSAFE.test(char)) return char
		return Array.from(BYTES.encode(char), (byte) => `\\${byte.toString(8).padStart(3, '0')}`).join('')
	})
	return `$'${escaped.join('')}'`
}

type Options = Readonly<Record<string, string | number | boolean | undefined>>

/** Returns the options as flags. A value that begins with a dash would be read as an option, so it follows an equals sign. */
function flagsOf(options: Options): string {
	let text = ''
	for (const [name, value] of Object.entries(options)) {
		if (value === undefined || value === false) continue
		const word = shellQuote(String(value))
		if (value === true) text += ` --${name}`
		else text += ` --${name}${String(value).startsWith('-') ? '=' : ' '}${word}`
	}
	return text
}

const isoTime = (ms: number | undefined): string | undefined =>
	ms === undefined ? undefined : new Date(ms).toISOString()

function selectionWords(selection: Selection): string {
	const { ids = [], fingerprint, destination, cause, key, topic, from, until, all } = selection
	const options = {
		fingerprint,
		destination,
		cause,
		key,
		topic,
		since: isoTime(from),
		until: isoTime(until),
		all,
	}
	return ids.map((id) => ` ${id}`).join('') + flagsOf(options)
}

/** Returns a name as an argument. After `--`, nothing is read as an option. */
const argument = (name: string): string => `${name.startsWith('-') ? ' --' : ''} ${shellQuote(name)}`

/** `database`: the flags that select the database. Null if the command line has no such action. */
export function commandOf(action: QueueAction, database = ''): string | null {
	const { action: name } = action
	if (name === 'cancel-job') return null
	// A discard without a reason yet.
	const reason = action.reason === '' ? undefined : action.reason
	const end = `${flagsOf({ reason })}${database}`
	const outbox = (words: string): string => `npx yaoki outbox ${words}`
	const webhooks = (words: string): string => `npx yaoki webhooks ${words}`
	switch (name) {
		case 'retry':
			return outbox(`retry${selectionWords(action.selection)}${end}`)
		case 'expire':
			return outbox(`expire${selectionWords(action.selection)}${end}`)
		case 'replay':
			return outbox(`replay${selectionWords(action.selection)}${flagsOf({ canary: action.canary })}${end}`)
		case 'discard':
			return outbox(`discard${selectionWords(action.selection)} --yes${end}`)
		case 'resend':
			return outbox(`resend ${action.id}${end}`)
		case 'pause': {
			const time = action.forMs === undefined ? undefined : `${action.forMs}ms`
			return outbox(`pause${flagsOf({ for: time })}${end}${argument(action.destination)}`)
		}
		case 'resume':
			return outbox(`resume${end}${argument(action.destination)}`)
		case 'close-circuit':
			return outbox(`retry${flagsOf({ destination: action.destination, 'close-circuit': true })}${end}`)
		case 'disable-endpoint':
			return webhooks(`disable ${action.id}${end}`)
		case 'enable-endpoint':
			return webhooks(`enable ${action.id}${end}`)
		case 'test-endpoint':
			return webhooks(`test ${action.id}${database}`)
		case 'resend-endpoint':
			return webhooks(
				`resend ${action.id}${flagsOf({ since: isoTime(action.since), rate: action.perSecond })}${end}`,
			)
	}
}

const formOf = (action: QueueAction, database: string | undefined): ActionForm => ({
	action: action.action,
	command: commandOf(action, database) ?? '',
})

/** Returns the actions that fit the status of a message. */
export function messageActions(
	source: string,
	{ id, status }: { readonly id: string; readonly status: MessageStatus },
	database?: string,
): readonly ActionForm[] {
	const selection = { ids: [id] }
	if (status === 'pending')
		return [
			formOf({ action: 'retry', source, selection }, database),
			formOf({ action: 'expire', source, selection }, database),
		]
	if (status === 'dead') return deadActions(source, selection, database)
	return status === 'sent' ? [formOf({ action: 'resend', source, id }, database)] : []
}

export const deadActions = (
	source: string,
	selection: Selection,
	database?: string,
): readonly ActionForm[] => [
	formOf({ action: 'replay', source, selection, canary: selection.ids === undefined }, database),
	formOf({ action: 'discard', source, selection, reason: '' }, database),
]

export const endpointActions = (
	source: string,
	{ id, isEnabled, since }: { readonly id: string; readonly isEnabled: boolean; readonly since: number },
	database?: string,
): readonly ActionForm[] => [
	formOf({ action: isEnabled ? 'disable-endpoint' : 'enable-endpoint', source, id }, database),
	formOf({ action: 'test-endpoint', source, id }, database),
	formOf({ action: 'resend-endpoint', source, id, since }, database),
]
