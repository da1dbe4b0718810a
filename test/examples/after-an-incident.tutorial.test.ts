/** The tutorial about dead letters: two fixes, two replays with a canary, and messages that must not be sent any more. */
import { test } from 'vitest'
import { end } from '../guard/guard.ts'
import { stablePort } from '../support/stable-port.ts'
import { temporaryFolder } from '../support/temporary-file.ts'
import { Tutorial } from './tutorial.ts'

test('each order gets one invoice, and what must not be sent is discarded', async () => {
	const PORT = String(await stablePort())
	const BILLING_URL = `http://127.0.0.1:${PORT}`
	const tutorial = new Tutorial(
		...(['after-an-incident', 'after-an-incident', { PORT, BILLING_URL }, temporaryFolder()] as const),
	)
	const startBilling = async (release: number) => {
		const billing = tutorial.start(`node billing.ts ${release}`)
		await billing.prints(`Billing runs, release ${release}.`, 'stdout')
		return billing
	}
	const replay = (release: number) =>
		tutorial.run(
			`npx yaoki outbox replay --fingerprint 0e003edcefbe --canary --by ada --reason release-${release}`,
		)
	await tutorial.run('node orders.ts')
	const second = await startBilling(2)
	const relay = tutorial.start('node relay.ts')
	await tutorial.shows(relay, 'dead letter 32: permanent')

	const [, example = ''] = /for example (.+)/.exec(await tutorial.run('npx yaoki outbox list --groups')) ?? []
	await tutorial.run('npx yaoki outbox show ID', example)
	await tutorial.run('npx yaoki outbox pause order.placed --by ada --reason billing-bug')
	await end(second.process, 'SIGTERM')

	const third = await startBilling(3)
	await tutorial.run('npx yaoki outbox resume order.placed --by ada')
	const [, won = ''] = /for example (\S+)\./.exec(await replay(3)) ?? []
	await tutorial.shows(third, 'invoice for o-22')
	await tutorial.run('npx yaoki outbox why ID', won)
	await end(third.process, 'SIGTERM')

	const fourth = await startBilling(4)
	await replay(4)
	await tutorial.shows(fourth, 'invoice for o-60')
	await tutorial.run('node verify.ts')

	await tutorial.run('npx yaoki outbox list --topic coupon.granted')
	await tutorial.run('npx yaoki outbox expire --topic coupon.granted --by ada --reason no-sale')
	await tutorial.shows(relay, 'dead letter 36: expired')
	await tutorial.run('npx yaoki outbox discard --cause expired')
	await tutorial.run('npx yaoki outbox discard --cause expired --yes --by ada --reason no-sale')
	await tutorial.run('npx yaoki outbox discard --fingerprint 68eebc534cae --yes --by ada --reason load-test')
	await tutorial.run('npx yaoki outbox check')

	await tutorial.run('npx yaoki outbox audit --message-id ID', won)
	for (const program of [relay, fourth]) await end(program.process, 'SIGTERM')
})
