/** How relays of other processes hear that there may be something. */
import assert from 'node:assert/strict'
import { type CaseTable, MANY } from '../harness/harness.ts'

export const waking: CaseTable = {
	'ringing with nobody there is no trouble': async ({ store }) => {
		await store.notify()
		await store.notify()
	},

	'who listens hears of what another store wrote and rang for': async (trial) => {
		const other = await trial.another()
		if (other === undefined) return
		let stop = async (): Promise<void> => undefined
		const rang = new Promise<void>((resolve, reject) => {
			trial.store.listen(resolve, reject).then(async (unlisten) => {
				stop = unlisten
				await other.insert([trial.row()])
				await other.notify()
			}, reject)
		})
		await rang
		await stop()
		assert.equal((await trial.claim({ limit: MANY })).length, 1)
	},

	'listening can be ended at once, and again': async ({ store }) => {
		const stop = await store.listen(
			() => undefined,
			() => undefined,
		)
		await stop()
		await stop()
		await store.notify()
	},
}
