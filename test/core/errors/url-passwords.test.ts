import { inspect } from 'node:util'
import { expect, test } from 'vitest'
import { InvalidArgumentError, InvalidOptionError } from 'yaoki'

test.each([
	['postgres://app:hunter2@db.internal/shop', 'postgres://app:***@db.internal/shop'],
	['redis://:hunter2@cache.internal:6379', 'redis://:***@cache.internal:6379'],
	['postgres://app:p@hunter2@db.internal', 'postgres://app:***@db.internal'],
	['https://db.internal:5432/shop', 'https://db.internal:5432/shop'],
	['http://[::1]:80/', 'http://[::1]:80/'],
	['a://b:hunter2@d e://f:hunter2@h', 'a://b:***@d e://f:***@h'],
])('errors about %s have no password, in the text and in the fields', (url, shown) => {
	const option = new InvalidOptionError('client', url, 'a Pool of pg')
	const argument = new InvalidArgumentError('client', url, 'a Pool of pg')
	for (const error of [option, argument]) {
		expect(error.received).toBe(shown)
		expect(error.message).toContain(`got "${shown}"`)
		expect(inspect(error)).not.toContain('hunter2')
	}
	const unknown = new InvalidOptionError('connectionString', url, 'client', {
		suggestion: undefined,
		owner: undefined,
	})
	expect(inspect(unknown)).not.toContain('hunter2')
})
