import { describe, expect, test } from 'vitest'
import { classify, YaokiError } from 'yaoki'
import {
	checkWebhookUrl,
	readUrlRules,
	type WebhookUrlOptions,
} from '../../../../src/outbox/webhooks/transport/check-url.ts'
import { WebhookUrlError } from '../../../../src/outbox/webhooks/transport/webhook-url-error.ts'

const check = (url: unknown, options: WebhookUrlOptions = {}): URL =>
	checkWebhookUrl(url, readUrlRules(options))

const errorOf = (url: unknown, options?: WebhookUrlOptions): WebhookUrlError => {
	try {
		check(url, options)
	} catch (error) {
		if (error instanceof WebhookUrlError) return error
		throw error
	}
	throw new Error(`${url} was accepted`)
}

test.each([
	'https://example.com',
	'https://example.com:443/hooks?a=1',
	'HTTPS://EXAMPLE.com/',
	'https://example.com./',
	'https://8.8.8.8/',
	'https://[2606:4700:4700::1111]/',
	'https://[::ffff:8.8.8.8]/',
	'https://localhost.example.com/',
	'https://internal.example.com/',
	new URL('https://example.com/'),
])('accepts %s', (url) => {
	expect(check(url).href).toBe(new URL(url).href)
})

describe('an address that is not public', () => {
	test.each([
		['https://127.0.0.1/', '127.0.0.1'],
		['https://0x7f.1/', '127.0.0.1'],
		['https://2130706433/', '127.0.0.1'],
		['https://0177.0.0.1/', '127.0.0.1'],
		['https://127.1/', '127.0.0.1'],
		['https://127.0.0.1./', '127.0.0.1'],
		['https://%31%32%37.0.0.1/', '127.0.0.1'],
		['https://１２７.０.０.１/', '127.0.0.1'],
		['https://①②⑦.0.0.1/', '127.0.0.1'],
		['https:127.0.0.1', '127.0.0.1'],
		['https:\\\\127.0.0.1\\', '127.0.0.1'],
		['https://example.com#@127.0.0.1/', undefined],
		['https://0/', '0.0.0.0'],
		['https://169.254.169.254/latest/meta-data/', '169.254.169.254'],
		['https://[::1]/', '::1'],
		['https://[::]/', '::'],
		['https://[::ffff:7f00:1]/', '::ffff:7f00:1'],
		['https://[::ffff:127.0.0.1]/', '::ffff:7f00:1'],
		['https://[64:ff9b::127.0.0.1]/', '64:ff9b::7f00:1'],
		['https://[64:ff9b::8.8.8.8]/', '64:ff9b::808:808'],
		['https://[fd00:ec2::254]/', 'fd00:ec2::254'],
	])('%s', (url, address) => {
		// A fragment is no host.
		if (address === undefined) expect(check(url).hostname).toBe('example.com')
		else expect(errorOf(url)).toMatchObject({ reason: 'address', address })
	})

	test('is accepted if it is allowed', () => {
		expect(check('https://10.0.0.7/', { allow: ['10.0.0.0/8'] }).hostname).toBe('10.0.0.7')
		expect(check('https://[::ffff:a00:7]/', { allow: ['10.0.0.0/8'] }).hostname).toBe('[::ffff:a00:7]')
	})
})

describe('a name that only an internal resolver knows', () => {
	test.each([
		'localhost',
		'LOCALHOST.',
		'a.localhost',
		'db',
		'metadata.google.internal',
		'printer.local',
		'api.default.svc.cluster.local',
		'router.home.arpa',
		'intranet',
		'wiki.corp',
		'nas.lan',
		'ip6-localhost',
	])('%s', (host) => {
		expect(errorOf(`https://${host}/`)).toMatchObject({ reason: 'host', address: undefined })
		expect(check(`https://${host}/`, { allow: [host] }).protocol).toBe('https:')
	})
})

test.each([
	['http://example.com/', 'scheme'],
	['ftp://example.com/', 'scheme'],
	['file:///etc/passwd', 'scheme'],
	['javascript:alert(1)', 'scheme'],
	['https://user@example.com/', 'credentials'],
	['https://:secret@example.com/', 'credentials'],
	['https://example.com:8443/', 'port'],
	['https://example.com:22/', 'port'],
	['https://example.com:0/', 'port'],
	['/hooks', 'syntax'],
	['example.com', 'syntax'],
	['https://', 'syntax'],
	['https://[fe80::1%25eth0]/', 'syntax'],
	['https://example.com:99999/', 'syntax'],
	['', 'syntax'],
	[undefined, 'syntax'],
	[null, 'syntax'],
	[{}, 'syntax'],
	[Symbol('url'), 'syntax'],
] as const)('rejects %s', (url, reason) => {
	expect(errorOf(url)).toMatchObject({ reason, code: 'YAOKI_WEBHOOK_URL', name: 'WebhookUrlError' })
})

test('allowHttp permits http and port 80', () => {
	for (const url of [
		'http://example.com/',
		'https://example.com/',
		'https://example.com:80/',
		'http://example.com:443/',
	])
		expect(check(url, { allowHttp: true }).href).toBe(url)
	expect(errorOf('http://example.com:8080/', { allowHttp: true }).reason).toBe('port')
	expect(errorOf('ftp://example.com/', { allowHttp: true }).reason).toBe('scheme')
})

test('ports replace the default', () => {
	expect(check('https://example.com:8443/', { ports: [8443] }).port).toBe('8443')
	expect(errorOf('https://example.com/', { ports: [8443] }).reason).toBe('port')
})

test('the error has no credentials, no query and no fragment', () => {
	for (const url of [
		'https://user:hunter2@example.com/a?token=hunter2#hunter2',
		'http://example.com/a?token=hunter2',
		'https://hunter2@example.com:70000/a?token=hunter2',
	]) {
		const { message, url: shown } = errorOf(url)
		expect(message + shown).not.toContain('hunter2')
		expect(shown).toContain('example.com')
	}
})

test('the error is permanent, and its message says what is valid', () => {
	const error = errorOf('https://user:hunter2@throttled.example.com/')
	expect(error).toBeInstanceOf(YaokiError)
	expect(classify(error).kind).toBe('permanent')
	expect(errorOf('http://example.com/').message).toBe(
		"Invalid webhook URL 'http://example.com/': expected the scheme https:, got http:",
	)
	expect(errorOf('https://example.com:22/').message).toBe(
		"Invalid webhook URL 'https://example.com:22/': expected the port 443, got 22",
	)
	expect(errorOf('https://0x7f.1/').message).toBe(
		"Invalid webhook URL 'https://127.0.0.1/': expected a public address, got 127.0.0.1 (loopback)",
	)
})

test.each([
	[{ ports: [] }, 'ports'],
	[{ ports: 443 }, 'ports'],
	[{ ports: [443, 0] }, 'ports[1]'],
	[{ ports: [65_536] }, 'ports[0]'],
	[{ ports: ['443'] }, 'ports[0]'],
	[{ allowHttp: 'yes' }, 'allowHttp'],
	[{ allow: 'localhost' }, 'allow'],
	[{ allowHttps: true }, 'allowHttps'],
])('rejects the options %o', (options, optionPath) => {
	expect(() => readUrlRules(options as WebhookUrlOptions)).toThrow(expect.objectContaining({ optionPath }))
})
