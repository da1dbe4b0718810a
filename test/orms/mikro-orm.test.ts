import { type EntityManager, EntitySchema, MikroORM } from '@mikro-orm/postgresql'
import { mikroOrmTx } from 'yaoki/outbox'
import type { OpenTransaction } from './support/orm.ts'
import { describeOrm } from './support/suite.ts'

const Order = new EntitySchema<{ id: number; total: number }>({
	name: 'Order',
	tableName: 'orders',
	properties: { id: { type: 'number', primary: true }, total: { type: 'number' } },
})

const openIn = (em: EntityManager): OpenTransaction => ({
	own: em,
	tx: () => mikroOrmTx(em),
	run: (text) => em.execute(text),
	nested: (work) => em.transactional((inner) => work(openIn(inner))),
})

describeOrm({
	name: 'MikroORM',
	function: 'mikroOrmTx',
	async open(url) {
		const orm = await MikroORM.init({ clientUrl: url, entities: [Order], pool: { min: 0, max: 4 } })
		return {
			transaction: (work) => orm.em.fork().transactional((em) => work(openIn(em))),
			close: () => orm.close(),
			orm,
		}
	},
	misuses: [
		(database) => mikroOrmTx(Object(database).orm.em.fork()),
		(database) => mikroOrmTx(Object(database).orm),
	],
})
