/** The tutorial about webhooks: a forged request, a new secret, a receiver with a bug, and what it has missed. */
import { expect, test } from 'vitest'
import { end, guardedFolder } from '../guard/guard.ts'
import { stablePort } from '../support/stable-port.ts'
import { Tutorial } from './tutorial.ts'

test('each order is shipped once: after a rotation, a bug of the receiver, a resend and a replay', async () => {
	await using folder = await guardedFolder('tutorial-webhooks')
	const RECEIVER_PORT = String(await stablePort())
	const tutorial = new Tutorial('webhooks', 'webhooks', { RECEIVER_PORT }, folder.path)
	const receiverWith = (WEBHOOK_SECRETS: string) =>
		new Tutorial('webhooks', 'webhooks', { RECEIVER_PORT, WEBHOOK_SECRETS }, folder.path)
	const secretIn = (text: string) => /whsec_\S+/.exec(text)?.[0] ?? ''

	const created = await tutorial.run(`node endpoints.ts create acme http://127.0.0.1:${RECEIVER_PORT}/hooks`)
	const [, endpoint = ''] = /^endpoint (.+)$/m.exec(created) ?? []
	await tutorial.run('node endpoints.ts create globex https://hooks.globex.example.com/orders')
	await tutorial.run('node endpoints.ts create acme https://10.0.0.7/hooks')
	const receiver = receiverWith(secretIn(created)).start('node receiver.ts')
	await tutorial.shows(receiver, 'The receiver listens.')
	const relay = tutorial.start('node relay.ts')
	await tutorial.shows(relay, 'The relay runs.')

	await tutorial.run('node order.ts acme o-1 1200')
	await tutorial.shows(relay, 'sent, attempt 1')
	await tutorial.shows(receiver, 'o-1: shipped')
	await tutorial.run('node forge.ts')
	const rotated = await tutorial.run('node endpoints.ts rotate ID', endpoint)
	await tutorial.run('node order.ts acme o-2 1300')
	await tutorial.shows(receiver, 'o-2: shipped')
	await end(receiver.process, 'SIGTERM')

	const both = receiverWith(`${secretIn(rotated)} ${secretIn(created)}`)
	const broken = both.start('node receiver.ts broken')
	await tutorial.shows(broken, 'The receiver listens.')
	await tutorial.run('node order.ts acme o-3 500')
	await tutorial.shows(relay, 'acme fails: HTTP 500\nacme disabled: failing\ndead letter: HTTP 500\n')
	await tutorial.run('node order.ts acme o-4 700')
	await tutorial.run('node endpoints.ts list')
	await end(broken.process, 'SIGTERM')

	const repaired = both.start('node receiver.ts')
	await tutorial.shows(repaired, 'The receiver listens.')
	await tutorial.run('node endpoints.ts enable ID', endpoint)
	await tutorial.run('node endpoints.ts resend ID', endpoint)
	await tutorial.shows(repaired, 'o-3: shipped')
	await tutorial.run('node endpoints.ts replay ID', endpoint)
	const replayed = ['o-1: duplicate', 'o-2: duplicate', 'o-3: duplicate', 'o-4: shipped']
	for (const line of replayed) await tutorial.shows(repaired, `${line}\n`)
	const [, ...lines] = repaired.stdout.trimEnd().split('\n')
	expect(lines.sort()).toEqual(['o-3: shipped', ...replayed].sort())
	for (const program of [relay, repaired]) await end(program.process, 'SIGTERM')
})
