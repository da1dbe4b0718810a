/** The options of `yaoki relay`. URL and headers may be secrets, so no message repeats them. */
import { DATABASE_OPTIONS } from '../database/database-target.ts'
import { usageError } from '../errors.ts'
import type { CommandIo } from '../io.ts'
import { type Arguments, flag, integer, text } from '../option-tables.ts'
import { contentLines, readSecretFile } from '../user-files.ts'

export const RELAY_OPTIONS = {
	...DATABASE_OPTIONS,
	to: text('URL', 'URL to post every message to; default YAOKI_TO; required'),
	destination: text('NAME', 'send only the messages of this destination; default all', { multiple: true }),
	header: text("'NAME: VALUE'", 'header of every request', { short: 'H', multiple: true }),
	headerFile: text('FILE', "file with a header per line: 'NAME: VALUE'; also in YAOKI_HEADERS"),
	maxConcurrent: integer('N', 'maximum number of messages in flight per destination', {
		short: 'c',
		min: 1,
		max: 10_000,
		default: 16,
	}),
	timeout: text('30s', 'timeout of a request', { default: '30s' }),
	lease: text('60s', 'time without a heartbeat after which other relays take over its messages', {
		default: '60s',
	}),
	keepHistory: flag('keep sent messages as history'),
}

export type RelayArguments = Arguments<typeof RELAY_OPTIONS>

export function parseDestinationUrl(to: string | undefined): URL {
	if (to === undefined) throw usageError('--to is required: the URL to which messages are posted.')
	const url = URL.canParse(to) ? new URL(to) : undefined
	if (!url || !/^https?:$/.test(url.protocol))
		throw usageError('--to must be a URL that starts with http:// or https://.')
	if (url.username !== '' || url.password !== '')
		throw usageError('--to must not contain a password.', {
			hint: "Pass it as --header 'Authorization: Basic ...'.",
		})
	return url
}

/** Returns the headers of the environment, the file and the arguments; the latter override the former. */
export function readHeaders(
	{ header, headerFile }: Pick<RelayArguments, 'header' | 'headerFile'>,
	{ env, warn }: Pick<CommandIo, 'env' | 'warn'>,
): Record<string, string> {
	const file = headerFile === undefined ? '' : readSecretFile(headerFile, warn)
	return {
		...parseHeaders(contentLines(env['YAOKI_HEADERS'] ?? ''), 'YAOKI_HEADERS, line'),
		...parseHeaders(contentLines(file), `${headerFile}, line`),
		...parseHeaders(header),
	}
}

/** Returns what must not be printed: headers, and the URL but its origin, as webhooks have secret paths. */
export function relaySecrets(url: URL, headers: Readonly<Record<string, string>>): readonly string[] {
	const values = Object.values(headers).flatMap((value) => [value, ...value.split(' ')])
	const parameters = [...url.searchParams].map(([, value]) => value)
	const secrets = [url.search, url.pathname, ...parameters, ...values]
	return secrets.filter(({ length }) => length >= MIN_SECRET_LENGTH).sort((a, b) => b.length - a.length)
}

/** Shorter texts occur by accident, and replacing them would make messages unreadable. */
const MIN_SECRET_LENGTH = 6

/** Returns the headers of lines such as `name: value`. */
export function parseHeaders(lines: readonly string[], source = '--header number'): Record<string, string> {
	const headers = new Headers()
	for (const [index, line] of lines.entries()) {
		const [, name, value] = /^([^:]+):(.*)$/s.exec(line) ?? []
		try {
			headers.append(String(name), String(value).trim())
			if (name !== undefined) continue
		} catch {
			// The message of this error contains the value.
		}
		throw usageError(`${source} ${index + 1} must have the form 'name: value'.`)
	}
	return Object.fromEntries(headers)
}
