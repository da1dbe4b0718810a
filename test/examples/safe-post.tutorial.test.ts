/** The tutorial about a safe POST: a server that is killed in the middle of a charge, and one charge per order. */
import { expect, test } from 'vitest'
import { end } from '../guard/guard.ts'
import { postgresDatabase } from '../support/postgres-database.ts'
import { stablePort } from '../support/stable-port.ts'
import { Tutorial } from './tutorial.ts'

test('each order is charged once: after a second click, a crash and a changed amount', async () => {
	await using database = await postgresDatabase()
	const PORT = String(await stablePort())
	const tutorial = new Tutorial('safe-post', 'safe-post', {
		DATABASE_URL: database.url,
		PORT,
		PAYMENTS_URL: `http://127.0.0.1:${PORT}`,
	})
	await tutorial.run('node setup.ts')

	const server = tutorial.start('node server.ts')
	await tutorial.shows(server, 'The payment service listens.')
	const first = await tutorial.run('node checkout.ts o-1 1200')
	const [, key = ''] = /^key (.+)$/m.exec(first) ?? []
	expect(await tutorial.run('node checkout.ts o-1 1200')).toContain(`key ${key}\n`)
	await tutorial.run('node checkout.ts o-1 9900')
	await tutorial.shows(server, 'idempotency_claimed\nidempotency_replayed\nidempotency_mismatch\n')
	const show = 'npx yaoki idempotency show ID --name payments --principal tea-shop --route /charges'
	await tutorial.run(show, key)
	await end(server.process, 'SIGTERM')

	const crashing = tutorial.start('node server.ts crash')
	await tutorial.shows(crashing, 'The payment service listens.')
	const client = tutorial.start('node checkout.ts o-2 800')
	expect(await crashing.ended()).toMatchObject({ signal: 'SIGKILL' })
	const restarted = tutorial.start('node server.ts')
	expect((await client.ended()).stdout).toContain('201 {"receipt":"receipt of o-2","cents":800}')
	await tutorial.run('node statement.ts')
	await end(restarted.process, 'SIGTERM')
})
