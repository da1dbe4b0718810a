import { Sequelize, type Transaction } from 'sequelize'
import { sequelizeTx } from 'yaoki/outbox'
import type { OpenTransaction, Orm } from './support/orm.ts'
import { describeOrm } from './support/suite.ts'

const sequelizeOrm = (name: string, own: (sequelize: Sequelize, transaction: unknown) => unknown): Orm => ({
	name,
	function: 'sequelizeTx',
	open(url) {
		const sequelize = new Sequelize(url, { logging: false, pool: { max: 4 } })
		const openIn = (transaction: Transaction): OpenTransaction => ({
			own: own(sequelize, transaction),
			tx: () => sequelizeTx(transaction),
			run: (text) => sequelize.query(text, { transaction }),
			nested: (work) => sequelize.transaction({ transaction }, (inner) => work(openIn(inner))),
		})
		return {
			transaction: (work) => sequelize.transaction((transaction) => work(openIn(transaction))),
			close: () => sequelize.close(),
			sequelize,
		}
	},
	misuses: [(database) => sequelizeTx(Object(database).sequelize)],
})

describeOrm(sequelizeOrm('Sequelize', (_, transaction) => transaction))
// It has a method `query`, whose second argument are options and no values.
describeOrm(sequelizeOrm('Sequelize passed as tx', (sequelize) => sequelize))
