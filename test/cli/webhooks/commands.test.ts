import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setImmediate } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { postgresOutboxStore } from 'yaoki/outbox'
import { createWebhookSecret } from 'yaoki/webhooks'
import { postgresPool } from '../../support/postgres-pool.ts'
import { killMessages } from '../outbox/fixtures.ts'
import { run } from '../outbox/run-yaoki.ts'
import { UNKNOWN_ID } from '../outbox/test-outbox.ts'
import { setup, setupOn, storedSecrets, URL_A, URL_B } from './setup.ts'

describe('create', () => {
	test('writes a new secret into a file that only its owner can read, and does not print it', async () => {
		const shop = await setup()
		const file = join(shop.folder, 'new.secret')
		const args = ['create', URL_A, '--topic', 'order.*', '-t', 'bill.paid', '--tenant', 'acme']
		const { code, stdout, stderr } = await shop.yaoki(...args, '--secret-file', file, '--by', 'ada')
		expect(stderr).toBe('')
		expect(code).toBe(0)
		const [endpoint] = await shop.webhooks.endpoints.list()
		expect(endpoint).toMatchObject({ url: URL_A, topics: ['order.*', 'bill.paid'], tenant: 'acme' })
		expect(stdout).toContain(`Created endpoint ${endpoint?.id}`)
		expect(stdout).toContain(file)
		expect(statSync(file).mode & 0o777).toBe(0o600)
		const secret = readFileSync(file, 'utf8').trim()
		expect(await storedSecrets(shop, endpoint?.id ?? '')).toEqual([secret])
		expect(stdout).not.toContain(secret)
		expect((await shop.outbox.audit())[0]).toMatchObject({ action: 'create-endpoint', by: 'ada' })
	})

	test('uses the secret of a file that exists, and does not change the file', async () => {
		const shop = await setup()
		const file = join(shop.folder, 'known.secret')
		const secret = createWebhookSecret()
		const text = `${secret}\n# second line\n`
		writeFileSync(file, text, { mode: 0o600 })
		const result = await shop.yaoki('create', URL_A, '-t', '*', '--secret-file', file, '--json')
		expect(result.code).toBe(0)
		const { endpoint, isNewSecret } = JSON.parse(result.stdout)
		expect(isNewSecret).toBe(false)
		expect(await storedSecrets(shop, endpoint.id)).toEqual([secret])
		expect(readFileSync(file, 'utf8')).toBe(text)
		expect(result.stdout + result.stderr).not.toContain(secret)
	})

	test.each([
		['no secret file', ['-t', '*'], '--secret-file is required'],
		['no topic', ['--secret-file', 'FILE'], 'Give at least one --topic'],
		['a topic that is no pattern', ['-t', 'a*b', '--secret-file', 'FILE'], 'Invalid option "--topic"'],
		['an empty tenant', ['-t', '*', '--tenant', '', '--secret-file', 'FILE'], 'Invalid option "--tenant"'],
		['an invalid network', ['-t', '*', '--allow', '10.0.0.5/8', '--secret-file', 'FILE'], '"--allow"'],
	])('%s is a usage error, and leaves no file', async (_, args, message) => {
		const shop = await setup()
		const file = join(shop.folder, 'new.secret')
		const result = await shop.yaoki('create', URL_A, ...args.map((arg) => (arg === 'FILE' ? file : arg)))
		expect(result).toMatchObject({ code: 2, stderr: expect.stringContaining(message) })
		expect(existsSync(file)).toBe(false)
		expect(await shop.webhooks.endpoints.list()).toEqual([])
	})

	test.each([
		['http://a.example.com/hooks', 'the scheme https:', '--allow-http permits', 'ssrfProtection.allowHttp'],
		['ftp://a.example.com/hooks', 'the scheme https:'],
		['https://a.example.com:8443/hooks', 'the port 443', '--port permits', 'ssrfProtection.ports'],
		['https://10.1.2.3/hooks', 'a public address', '--allow permits', 'ssrfProtection.allow'],
		['https://ada:hunter2@a.example.com/hooks', 'no user name and no password'],
		['https://localhost/hooks?token=hunter2', 'the name of a public host', '--allow permits'],
		['hooks', 'an absolute URL'],
	])('rejects %s as the program does, without what may be secret', async (url, message, ...hints) => {
		const shop = await setup()
		const file = join(shop.folder, 'new.secret')
		const result = await shop.yaoki('create', url, '-t', '*', '--secret-file', file)
		expect(result).toMatchObject({ code: 2, stderr: expect.stringContaining(message) })
		for (const hint of hints) expect(result.stderr).toContain(hint)
		if (hints.length === 0) expect(result.stderr).not.toMatch(/--allow|--port|ssrfProtection/)
		expect(result.stdout + result.stderr).not.toContain('hunter2')
		expect(existsSync(file)).toBe(false)
	})

	test('--allow, --allow-http and --port permit a URL', async () => {
		const shop = await setup()
		const url = 'http://10.1.2.3:8080/hooks'
		const args = ['--allow', '10.1.0.0/16', '--allow-http', '--port', '80', '--port', '8080']
		const file = join(shop.folder, 'new.secret')
		expect((await shop.yaoki('create', url, '-t', '*', ...args, '--secret-file', file)).code).toBe(0)
		expect(await shop.webhooks.endpoints.list()).toMatchObject([{ url }])
	})

	test.each([
		['', 'is empty'],
		['whsec_c2hvcnQ=', 'has no valid secret'],
		['hunter2-hunter2-hunter2-hunter2', 'has no valid secret'],
	])('the file "%s" is a usage error without the secret', async (text, message) => {
		const shop = await setup()
		const file = join(shop.folder, 'bad.secret')
		writeFileSync(file, text, { mode: 0o600 })
		const result = await shop.yaoki('create', URL_A, '-t', '*', '--secret-file', file)
		expect(result).toMatchObject({ code: 2, stderr: expect.stringContaining(message) })
		expect(result.stderr).not.toMatch(/hunter2|c2hvcnQ/)
	})

	test('a file in a folder that does not exist is not found', async () => {
		const shop = await setup()
		const file = join(shop.folder, 'missing', 'new.secret')
		const result = await shop.yaoki('create', URL_A, '-t', '*', '--secret-file', file)
		expect(result).toMatchObject({ code: 3, stderr: expect.stringContaining('its folder does not exist') })
	})

	test('is rejected if secrets are encrypted, with what to do', async () => {
		const encrypt = (text: string) => Buffer.from(text).toString('hex')
		const decrypt = (text: string) => Buffer.from(text, 'hex').toString()
		const shop = await setup({ secretEncryption: { encrypt, decrypt } })
		const id = await shop.create()
		const file = join(shop.folder, 'new.secret')
		for (const args of [
			['create', URL_B, '-t', '*'],
			['rotate', id],
		]) {
			const result = await shop.yaoki(...args, '--secret-file', file)
			expect(result).toMatchObject({ code: 1, stderr: expect.stringContaining('passes secretEncryption') })
			expect(existsSync(file)).toBe(false)
		}
		expect(await shop.webhooks.endpoints.list()).toHaveLength(1)
	})
})

describe('rotate', () => {
	test('signs with both secrets for --keep-for', async () => {
		const shop = await setup()
		const id = await shop.create()
		const [former] = await storedSecrets(shop, id)
		const file = join(shop.folder, 'new.secret')
		const args = ['rotate', id, '--secret-file', file, '--keep-for', '2h', '--reason', 'yearly']
		const { code, stdout } = await shop.yaoki(...args)
		expect(code).toBe(0)
		expect(stdout).toContain('The former secrets sign for another 2 h')
		const added = readFileSync(file, 'utf8').trim()
		expect(await storedSecrets(shop, id)).toEqual([added, former])
		expect(stdout).not.toContain(added)
		expect((await shop.outbox.audit())[0]).toMatchObject({ action: 'rotate-secret', reason: 'yearly' })
	})

	test('--keep-for 0s ends the former secret, and the same file again is rejected', async () => {
		const shop = await setup()
		const id = await shop.create()
		const file = join(shop.folder, 'new.secret')
		const args = ['rotate', `webhook:${id}`, '--secret-file', file, '--keep-for', '0s']
		expect((await shop.yaoki(...args)).stdout).toContain('do not sign any more')
		const secrets = await storedSecrets(shop, id)
		expect(secrets).toEqual([readFileSync(file, 'utf8').trim()])
		expect(await shop.yaoki(...args)).toMatchObject({
			code: 2,
			stderr: expect.stringContaining('already'),
		})
		expect(await storedSecrets(shop, id)).toEqual(secrets)
	})

	test('an unknown endpoint leaves no file', async () => {
		const shop = await setup()
		const file = join(shop.folder, 'new.secret')
		expect((await shop.yaoki('rotate', UNKNOWN_ID, '--secret-file', file)).code).toBe(3)
		expect(existsSync(file)).toBe(false)
	})
})

describe('list', () => {
	test('selects by state, tenant and topic, and pages', async () => {
		const shop = await setup()
		const first = await shop.create({ tenant: 'acme' })
		const failing = await shop.create({ url: URL_B })
		const disabled = await shop.create({ topics: ['*'] })
		await shop.webhooks.endpoints.disable(disabled)
		await shop.outbox.store.endpoints?.recordFailure(failing)
		const ids = async (...args: readonly string[]) =>
			(await shop.json<{ id: string }[]>('list', ...args)).map(({ id }) => id)
		expect(await ids()).toEqual([first, failing, disabled])
		expect(await ids('--state', 'enabled')).toEqual([first, failing])
		expect(await ids('--state', 'failing')).toEqual([failing])
		expect(await ids('--state', 'disabled')).toEqual([disabled])
		expect(await ids('--tenant', 'acme')).toEqual([first])
		expect(await ids('--tenant', '')).toEqual([failing, disabled])
		expect(await ids('--topic', '*')).toEqual([disabled])
		expect(await ids('-n', '2')).toEqual([first, failing])
		expect(await ids('--after', failing)).toEqual([disabled])
		expect((await shop.yaoki('list', '-n', '2')).stderr).toContain(`--after ${failing}`)
	})

	test('shows what is wrong, and no credentials, queries and control characters', async () => {
		const shop = await setup()
		const id = await shop.create({
			url: `${URL_A}?token=hunter2`,
			tenant: 'ac\u001b[31mme',
			topics: ['a', 'b', 'c', 'd', 'e'],
		})
		const other = await shop.create()
		await shop.webhooks.endpoints.disable(other)
		await shop.outbox.store.endpoints?.recordFailure(id)
		const { stdout } = await shop.yaoki('list')
		const [line, second] = stdout.split('\n')
		expect(line).toMatch(new RegExp(`^${id}  failing +failing for [^,]*, 1 failure +${URL_A}`))
		expect(line).toContain('a, b, c and 2 more')
		expect(second).toContain('disabled by an operator')
		expect(stdout).not.toContain('hunter2')
		expect(stdout).not.toContain('\u001b')
		expect(stdout).not.toContain('whsec_')
	})

	test('an empty list says so', async () => {
		const shop = await setup()
		expect((await shop.yaoki('list')).stdout).toBe('No endpoints match.\n')
		expect(await shop.json('list')).toEqual([])
	})
})

describe('show', () => {
	test('prints the endpoint and how many messages it has', async () => {
		const shop = await setup()
		const id = await shop.create({ description: 'orders of acme' })
		await shop.webhooks.enqueue({ topic: 'order.placed', payload: 1 }, { withoutTransaction: true })
		const { code, stdout } = await shop.yaoki('show', id)
		expect(code).toBe(0)
		expect(stdout).toMatch(/state +enabled\n/)
		expect(stdout).toMatch(/description +orders of acme\n/)
		expect(stdout).toMatch(/messages +1 due, 0 scheduled, 0 in flight, 0 dead/)
		const shown = await shop.json<object>('show', `webhook:${id}`)
		expect(shown).toMatchObject({ id, url: URL_A, messages: { due: { count: 1 } } })
		expect(JSON.stringify(shown)).not.toContain('whsec_')
	})

	test.each(['show', 'test', 'disable', 'enable', 'delete'])(
		'%s of an unknown endpoint is not found',
		async (command) => {
			const shop = await setup()
			for (const id of [UNKNOWN_ID, 'acme']) expect(await shop.yaoki(command, id)).toMatchObject({ code: 3 })
			expect((await shop.yaoki(command, UNKNOWN_ID)).stderr).toContain('yaoki webhooks list --database')
		},
	)
})

describe('update', () => {
	test('changes what is given', async () => {
		const shop = await setup()
		const id = await shop.create({ description: 'old' })
		expect((await shop.yaoki('update', id, '--url', URL_B)).stdout).toContain(URL_B)
		expect(await shop.webhooks.endpoints.find(id)).toMatchObject({ url: URL_B, topics: ['order.*'] })
		await shop.yaoki('update', id, '-t', 'a', '-t', 'b', '--description', '')
		expect(await shop.webhooks.endpoints.find(id)).toMatchObject({
			url: URL_B,
			topics: ['a', 'b'],
			description: undefined,
		})
		expect((await shop.yaoki('update', id)).code).toBe(2)
		expect((await shop.yaoki('update', id, '--url', 'https://127.0.0.1/')).code).toBe(2)
	})
})

describe('disable and enable', () => {
	test('say what happens to the messages, and are in the audit', async () => {
		const shop = await setup()
		const id = await shop.create()
		const disabled = await shop.yaoki('disable', id, '--by', 'ada', '--reason', 'left')
		expect(disabled.stdout).toContain('Its queued messages wait')
		expect((await shop.yaoki('disable', id)).stdout).toContain('was disabled by an operator already')
		expect((await shop.yaoki('test', id)).stderr).toContain(`yaoki webhooks enable ${id}`)
		const enabled = await shop.yaoki('enable', id)
		expect(enabled.stdout).toContain('Its queued messages are sent')
		expect(enabled.stderr).toContain(`yaoki webhooks resend ${id} --since 20`)
		expect(enabled.stderr).toContain(`yaoki webhooks replay ${id} --since 20`)
		expect(await shop.yaoki('enable', id)).toMatchObject({
			stdout: expect.stringContaining('was enabled already'),
			stderr: '',
		})
		const audit = await shop.cli('outbox', 'audit', '--action', 'disable-endpoint', '--json')
		expect(JSON.parse(audit.stdout).at(-1)).toMatchObject({ by: 'ada', reason: 'left' })
	})
})

test('enable says how to resend what became a dead letter before the endpoint was disabled', async () => {
	const shop = await setup()
	const id = await shop.create()
	await shop.outbox.store.endpoints?.recordFailure(id)
	await shop.webhooks.enqueue({ topic: 'order.placed', payload: 1 }, { withoutTransaction: true })
	await killMessages(shop.outbox.store, `webhook:${id}`, new Error('500'))
	const letters = await shop.outbox.list({ status: 'dead' })
	const diedAt = letters[0]?.endedAt?.getTime() ?? Number.NaN
	// The database's clock has to show a later time than that of the dead letter.
	while ((await shop.outbox.store.now()) <= diedAt) await setImmediate()
	await shop.webhooks.endpoints.disable(id)
	const { stderr } = await shop.yaoki('enable', id)
	const [, ...args] = /yaoki webhooks (resend) \S+ --since (\S+)/.exec(stderr) ?? []
	expect(await shop.yaoki('resend', id, '--since', args[1] ?? '')).toMatchObject({
		stdout: '1 message queued again.\n',
	})
})

describe('delete', () => {
	test('asks for --yes', async () => {
		const shop = await setup()
		const id = await shop.create()
		expect(await shop.yaoki('delete', id)).toMatchObject({
			code: 2,
			stderr: expect.stringContaining('Add --yes'),
		})
		expect(await shop.webhooks.endpoints.find(id)).toBeDefined()
		expect((await shop.yaoki('delete', id, '--yes')).code).toBe(0)
		expect(await shop.webhooks.endpoints.find(id)).toBeUndefined()
	})
})

describe('test, resend and replay', () => {
	test('test queues a message for the endpoint', async () => {
		const shop = await setup()
		const id = await shop.create()
		const { messageId } = await shop.json<{ messageId: string }>('test', id)
		expect(await shop.outbox.find(messageId)).toMatchObject({
			topic: 'webhook.test',
			destination: `webhook:${id}`,
		})
		expect((await shop.yaoki('test', id)).stdout).toContain('yaoki outbox why')
	})

	test('resend queues dead letters again, and replay the events that are kept', async () => {
		const shop = await setup()
		const id = await shop.create()
		await shop.webhooks.enqueue({ topic: 'order.placed', payload: 1 }, { withoutTransaction: true })
		const none = await shop.yaoki('resend', id, '--since', '2h')
		expect(none).toMatchObject({ code: 0, stdout: expect.stringContaining('No dead letter') })

		const later = await shop.create({ url: URL_B })
		const replayed = await shop.yaoki('replay', later, '--since', '1h', '--rate', '10')
		expect(replayed).toMatchObject({ code: 0, stdout: '1 event queued for this endpoint.\n' })
		const other = await shop.yaoki('replay', later, '--since', '2020-01-01', '--until', '2020-01-02')
		expect(other.stdout).toContain('keepEventsForMs')

		await killMessages(shop.outbox.store, `webhook:${id}`, new Error('410'))
		const resent = await shop.yaoki('resend', id, '--since', '2h', '--rate', '10', '--by', 'ada')
		expect(resent).toMatchObject({ code: 0, stdout: '1 message queued again.\n' })
		expect((await shop.outbox.audit({ action: 'replay' }))[0]).toMatchObject({ by: 'ada' })
	})

	test.each([['resend'], ['replay']])('%s needs --since, and a positive rate', async (command) => {
		const shop = await setup()
		const id = await shop.create()
		expect((await shop.yaoki(command, id)).stderr).toContain('--since is required')
		expect((await shop.yaoki(command, id, '--since', 'yesterday')).code).toBe(2)
		expect((await shop.yaoki(command, id, '--since', '1h', '--rate', '0')).code).toBe(2)
		expect((await shop.yaoki(command, UNKNOWN_ID, '--since', '1h')).code).toBe(3)
	})
})

describe('PostgreSQL', () => {
	const database = postgresPool()

	test('all commands work', async () => {
		const shop = await setupOn(postgresOutboxStore({ client: database.pool }), database.url)
		const file = join(shop.folder, 'new.secret')
		const created = await shop.json<{ endpoint: { id: string } }>(
			...['create', URL_A, '-t', 'order.*', '--tenant', 'acme', '--secret-file', file],
		)
		const { id } = created.endpoint
		expect(await shop.json('list', '--tenant', 'acme')).toMatchObject([{ id, url: URL_A }])
		await shop.webhooks.enqueue(
			{ topic: 'order.placed', tenant: 'acme', payload: 1 },
			{ withoutTransaction: true },
		)
		expect((await shop.yaoki('show', id)).stdout).toMatch(/messages +1 due/)
		expect((await shop.yaoki('update', id, '-t', '*')).code).toBe(0)
		const rotated = join(shop.folder, 'rotated.secret')
		expect((await shop.yaoki('rotate', id, '--secret-file', rotated)).code).toBe(0)
		expect(await storedSecrets(shop, id)).toEqual(
			[rotated, file].map((path) => readFileSync(path, 'utf8').trim()),
		)
		expect((await shop.yaoki('replay', id, '--since', '1h')).stdout).toContain('1 event queued')
		expect((await shop.yaoki('resend', id, '--since', '1h')).stdout).toContain('No dead letter')
		expect((await shop.yaoki('disable', id)).code).toBe(0)
		expect((await shop.cli('outbox', 'check')).stdout).toContain(`webhook:${id} (2 messages)`)
		expect((await shop.cli('outbox', 'status')).stdout).toMatch(/disabled by an operator +1/)
		expect((await shop.yaoki('enable', id)).code).toBe(0)
		expect((await shop.yaoki('test', id)).code).toBe(0)
		expect((await shop.yaoki('delete', id, '--yes')).code).toBe(0)
		expect(await shop.json('list')).toEqual([])
	})
})

test('an outbox of an earlier release says how to migrate', async () => {
	const shop = await setup()
	const file = join(shop.folder, 'empty.db')
	new DatabaseSync(file).close()
	const { code, stderr } = await run(['webhooks', 'list', '--database', file])
	expect(code).toBe(1)
	expect(stderr).toContain(`yaoki outbox migrate --database ${file}`)
})
