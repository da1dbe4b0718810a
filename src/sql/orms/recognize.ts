/** Names the function for an ORM's object that was passed as `tx` itself. Only called after a failure. */
import { drizzleKind } from './drizzle.ts'
import { hasMethods, isOrmTransaction, property } from './orm-transaction.ts'

interface Orm {
	readonly name: string
	/** The call that the user should write. */
	readonly call: string
	readonly where: string
	readonly isIt: (tx: unknown) => boolean
}

const ORMS: readonly Orm[] = [
	{
		name: 'Drizzle',
		call: 'drizzleTx(tx)',
		where: 'in the callback of db.transaction()',
		isIt: (tx) => drizzleKind(tx) !== undefined,
	},
	{
		name: 'Prisma',
		call: 'prismaTx(tx)',
		where: 'in the callback of prisma.$transaction()',
		isIt: (tx) => hasMethods(tx, '$queryRawUnsafe'),
	},
	{
		name: 'Kysely',
		call: 'kyselyTx(trx)',
		where: 'in the callback of db.transaction().execute()',
		isIt: (tx) => hasMethods(tx, 'executeQuery', 'getExecutor'),
	},
	{
		name: 'Knex',
		call: 'knexTx(trx)',
		where: 'in the callback of knex.transaction()',
		isIt: (tx) => hasMethods(tx, 'raw', 'transaction', 'queryBuilder'),
	},
	{
		name: 'Sequelize',
		call: 'sequelizeTx(transaction)',
		where: 'in the callback of sequelize.transaction()',
		isIt: (tx) =>
			hasMethods(tx, 'getDialect', 'getQueryInterface') ||
			hasMethods(property(tx, 'sequelize'), 'getDialect', 'getQueryInterface'),
	},
	{
		name: 'MikroORM',
		call: 'mikroOrmTx(em)',
		where: 'in the callback of em.transactional()',
		isIt: (tx) => hasMethods(tx, 'isInTransaction', 'getTransactionContext'),
	},
	{
		name: 'postgres.js',
		call: 'postgresJsTx(sql)',
		where: 'in the callback of sql.begin()',
		isIt: (tx) => hasMethods(tx, 'unsafe', 'typed'),
	},
	{
		name: 'TypeORM',
		call: 'typeormTx(manager)',
		where: 'in the callback of dataSource.transaction()',
		isIt: (tx) =>
			hasMethods(tx, 'createQueryRunner') || hasMethods(tx, 'getRepository', 'createQueryBuilder'),
	},
]

/** An ORM, and what to pass instead of its object. */
interface Recognized {
	readonly name: string
	readonly pass: string
}

/**
 * Recognizes an object of an ORM that was passed as `tx` itself. `entry` is where its function is imported from.
 * For SQLite only Drizzle has a function: the others run statements asynchronously.
 */
export function recognizeOrm(tx: unknown, entry: string, database: string): Recognized | undefined {
	if (isOrmTransaction(tx)) return undefined
	const orm = ORMS.find(({ isIt }) => isIt(tx))
	if (orm === undefined || (database !== 'postgres' && orm.name !== 'Drizzle')) return undefined
	const { name, call, where } = orm
	const imported = call.slice(0, call.indexOf('('))
	return { name, pass: `${call} ${where}: import { ${imported} } from '${entry}'` }
}
