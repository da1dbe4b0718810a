/** What the logs, the event log and spans show of a text. */
import { describe, expect, test } from 'vitest'
import { redactText } from '../../../src/telemetry/redact/redactor.ts'

describe('a text', () => {
	test.each([
		['401 for Bearer s3cret.abc-_~+/=', '401 for Bearer ***'],
		['invalid bearer secretword, renew it', 'invalid bearer ***, renew it'],
		['{"authorization":"Bearer s3cret"}', '{"authorization":"***"}'],
		['Authorization: Basic s3cret==', 'Authorization: ***'],
		['authorization=s3cret', 'authorization=***'],
		["host=db password='my s3cret' user=ann", 'host=db password=*** user=ann'],
		['password="s3cret', 'password=***'],
		['password=s3cret;x,y&z user=ann', 'password=*** user=ann'],
		['Password: s3cret', 'Password: ***'],
		['{"password":"s3\\"cret","user":"ann"}', '{"password":***,"user":"ann"}'],
		['{"access_token": "s3cret", "user": "ann"}', '{"access_token": ***, "user": "ann"}'],
		['api_key=s3cret', 'api_key=***'],
		['client_secret=s3cret', 'client_secret=***'],
		['X-Api-Key: s3cret', 'X-Api-Key: ***'],
		['at postgres://ann:s3#cret@db/x', 'at postgres://'],
		['at https://shop/orders?token=s3cret', 'at https://shop/orders'],
	])('%s becomes %s', (text, redacted) => {
		expect(redactText(text)).toBe(redacted)
	})

	test.each([
		'Unexpected token: } in JSON at position 5',
		'connect ECONNREFUSED 127.0.0.1:5432',
		'https://shop.internal/orders/5',
		'password is wrong',
		'tenant-1',
	])('%s stays', (text) => {
		expect(redactText(text)).toBe(text)
	})

	test('a text is redacted in linear time, whatever it contains', () => {
		for (const part of [
			'password=',
			'bearer ',
			'authorization: ',
			'"password":"',
			"password='",
			'\\"',
			'://a:',
			' ',
		])
			expect(redactText(part.repeat(100_000)).length).toBeGreaterThan(0)
	})
})
