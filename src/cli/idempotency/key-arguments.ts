/** The arguments that name one key: it belongs to an engine, a principal, a method and a route. Only their hash is stored, so keys cannot be listed. */
import { identityHash } from '../../idempotency/key/identity.ts'
import { parseKey } from '../../idempotency/key/parse-key.ts'
import { IDEMPOTENCY_DATABASE_OPTIONS } from '../database/database-target.ts'
import { CliError } from '../errors.ts'
import { type Arguments, text } from '../option-tables.ts'

export const KEY_OPTIONS = {
	...IDEMPOTENCY_DATABASE_OPTIONS,
	name: text('NAME', 'option "name" of the engine; required', { short: 'n' }),
	principal: text('ID', 'what the option "principal" of the engine returned; required', { short: 'p' }),
	method: text('METHOD', 'method of the request', { short: 'm', default: 'POST' }),
	route: text('PATH', 'path of the request, or what the option "route" returned; required', { short: 'r' }),
}

export const KEY = {
	key: { placeholder: 'KEY', description: 'value of the Idempotency-Key header' },
} as const

/** The longest that the engine can be configured for. */
const MAX_KEY_LENGTH = 8_192

/** Returns the id of the key in the store. Neither key nor principal are repeated in messages. */
export async function keyId({
	key,
	name,
	principal,
	method,
	route,
}: Arguments<typeof KEY_OPTIONS, typeof KEY>): Promise<string> {
	const parsed = parseKey(key, MAX_KEY_LENGTH)
	if (parsed.kind === 'malformed') throw new CliError('usage', `KEY is invalid: ${parsed.detail}`)
	if (parsed.kind === 'missing') throw new CliError('usage', 'KEY is empty.')
	if (name === undefined || name === '') throw new CliError('usage', '--name is required.')
	if (principal === undefined || principal === '') throw new CliError('usage', '--principal is required.')
	if (route === undefined || route === '') throw new CliError('usage', '--route is required.')
	return identityHash(name, { principal, method: method.toUpperCase(), route, key: parsed.key })
}

export const unknownKey = (): CliError =>
	new CliError('notFound', 'Nothing is stored for this name, key, principal, method and route.', {
		hint: 'Check all five. A key is deleted when its retention is over, and when its request failed without stored steps.',
	})
