import 'reflect-metadata'
import { DataSource, type EntityManager } from 'typeorm'
import { typeormTx } from 'yaoki/outbox'
import type { OpenTransaction, Orm } from './support/orm.ts'
import { describeOrm } from './support/suite.ts'

const open = (url: string) =>
	new DataSource({ type: 'postgres', url, entities: [], poolSize: 4 }).initialize()

const openIn = (manager: EntityManager): OpenTransaction => ({
	own: manager,
	tx: () => typeormTx(manager),
	run: (text) => manager.query(text),
	nested: (work) => manager.transaction((inner) => work(openIn(inner))),
})

const manager: Orm = {
	name: 'TypeORM',
	function: 'typeormTx',
	ownIsClient: true,
	async open(url) {
		const source = await open(url)
		return {
			transaction: (work) => source.transaction((manager) => work(openIn(manager))),
			close: () => source.destroy(),
			source,
		}
	},
	misuses: [
		(database) => typeormTx(Object(database).source),
		(database) => typeormTx(Object(database).source.manager),
	],
}

const runner: Orm = {
	...manager,
	name: 'TypeORM with a QueryRunner',
	async open(url) {
		const source = await open(url)
		return {
			transaction: async (work) => {
				const runner = source.createQueryRunner()
				await runner.startTransaction()
				try {
					const run = (text: string) => runner.query(text)
					const result = await work({ own: runner.manager, tx: () => typeormTx(runner), run })
					await runner.commitTransaction()
					return result
				} catch (error) {
					await runner.rollbackTransaction()
					throw error
				} finally {
					await runner.release()
				}
			},
			close: () => source.destroy(),
			source,
		}
	},
}

describeOrm(manager)
describeOrm(runner)
