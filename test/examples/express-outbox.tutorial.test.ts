/** The tutorial about an outbox: a receiver that is down, a relay that is killed, a dead letter and its replay. */
import { expect, test } from 'vitest'
import { end } from '../guard/guard.ts'
import { postgresDatabase } from '../support/postgres-database.ts'
import { stablePort } from '../support/stable-port.ts'
import { Tutorial } from './tutorial.ts'

test('each committed order has one mail: after an outage, a crash and a wrong address', async () => {
	await using database = await postgresDatabase()
	const ports = { shop: await stablePort(), mail: await stablePort() }
	const env = { DATABASE_URL: database.url, MAIL_URL: `http://127.0.0.1:${ports.mail}` }
	const tutorial = new Tutorial('outbox', 'express-outbox', {
		...env,
		PORT: String(ports.shop),
		SHOP_URL: `http://127.0.0.1:${ports.shop}`,
	})
	const mailTutorial = new Tutorial('outbox', 'express-outbox', { ...env, PORT: String(ports.mail) })
	const place = async (command: string) => {
		const [, id = ''] = /"message":"(.+)"/.exec(await tutorial.run(command)) ?? []
		return id
	}
	await tutorial.run('node setup.ts')
	const shop = tutorial.start('node server.ts')
	await tutorial.shows(shop, 'The shop listens.')

	const first = await place('node order.ts o-1 1200 ada@example.com')
	await tutorial.run('node order.ts o-2 -5 bob@example.com')
	await tutorial.run('npx yaoki outbox list')
	await tutorial.run('npx yaoki outbox why ID', first)
	const relay = tutorial.start('node relay.ts')
	await tutorial.shows(relay, 'attempt 1 failed: fetch failed')
	const mail = mailTutorial.start('node mail.ts')
	await tutorial.shows(mail, 'The mail service listens.')
	await tutorial.shows(mail, 'mail to ada@example.com for o-1')
	await tutorial.shows(relay, `sent ${first}, attempt`)
	await end(relay.process, 'SIGTERM')

	const crashing = tutorial.start('node relay.ts crash')
	const second = await place('node order.ts o-3 500 bob@example.com')
	expect(await crashing.ended()).toMatchObject({ signal: 'SIGKILL' })
	await tutorial.shows(mail, 'mail to bob@example.com for o-3')
	const restarted = tutorial.start('node relay.ts')
	await tutorial.shows(mail, 'duplicate for o-3: no second mail')
	await tutorial.shows(restarted, `sent ${second}, attempt 2`)

	const dead = await place('node order.ts o-4 700 eve')
	await tutorial.shows(restarted, `dead letter ${dead}: HTTP 422 for POST ${env.MAIL_URL}/mails\n`)
	await tutorial.run('npx yaoki outbox list --groups')
	await tutorial.run('npx yaoki outbox why ID', dead)
	await tutorial.run('npx yaoki outbox replay ID --payload fixed.json --by ada --reason new-address', dead)
	await tutorial.shows(mail, 'mail to eve@example.com for o-4')
	await tutorial.shows(restarted, `sent ${dead}, attempt 1`)
	await tutorial.run('npx yaoki outbox audit')
	for (const program of [restarted, mail, shop]) await end(program.process, 'SIGTERM')
})
