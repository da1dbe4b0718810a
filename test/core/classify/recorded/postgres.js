import { DataTypes, Sequelize } from 'sequelize'
import { DataSource, EntitySchema } from 'typeorm'
import { startPostgres } from '../../../support/real-postgres.ts'
import { deadPort, thrownBy } from './provoke.js'

const postgres = await startPostgres()
const { host, port, user, password, database } = postgres.connection

const sequelizeAt = (at, more = {}) =>
	new Sequelize(database, user, more.password ?? password, {
		dialect: 'postgres',
		host,
		port: at,
		logging: false,
		retry: { max: 0 },
		...more,
	})

async function sequelize(use, more) {
	const db = sequelizeAt(port, more)
	const User = db.define('user', {
		email: { type: DataTypes.STRING, unique: true, allowNull: false, validate: { isEmail: true } },
	})
	const Order = db.define('order', { total: DataTypes.INTEGER })
	Order.belongsTo(User, { foreignKey: { allowNull: false } })
	await db.sync({ force: true })
	try {
		return await thrownBy(() => use({ db, User, Order }))
	} finally {
		await db.close()
	}
}

const Item = new EntitySchema({
	name: 'Item',
	columns: { id: { type: Number, primary: true }, code: { type: String, unique: true } },
})
const sourceAt = (at) =>
	new DataSource({
		type: 'postgres',
		host,
		port: at,
		username: user,
		password,
		database,
		synchronize: true,
		entities: [Item],
	})

async function typeorm(use) {
	const source = await sourceAt(port).initialize()
	try {
		return await thrownBy(() => use(source.getRepository('Item'), source))
	} finally {
		await source.destroy()
	}
}

export const cases = {
	'sequelize: unique constraint': () =>
		sequelize(async ({ User }) => {
			await User.create({ email: 'timeout@example.com' })
			await User.create({ email: 'timeout@example.com' })
		}),
	'sequelize: validation': () => sequelize(({ User }) => User.create({ email: 'invalid' })),
	'sequelize: foreign key': () => sequelize(({ Order }) => Order.create({ total: 1, userId: 99 })),
	'sequelize: no such row': () =>
		sequelize(({ User }) => User.findOne({ where: { email: 'x' }, rejectOnEmpty: true })),
	'sequelize: no such table': () => sequelize(({ db }) => db.query('select * from nowhere')),
	'sequelize: statement timeout': () =>
		sequelize(({ db }) => db.query('set statement_timeout = 20; select pg_sleep(9)')),
	'sequelize: connection refused': async () => {
		const dead = await deadPort()
		return thrownBy(() => sequelizeAt(dead).authenticate())
	},
	'sequelize: wrong password': () => thrownBy(() => sequelizeAt(port, { password: 'wrong' }).authenticate()),
	'sequelize: pool exhausted': () =>
		sequelize(
			async ({ db }) => {
				await db.transaction(() => db.query('select 1', { transaction: null }))
			},
			{ pool: { max: 1, acquire: 50 } },
		),
	'typeorm: unique constraint of PostgreSQL': () =>
		typeorm(async (items) => {
			await items.insert({ id: 1, code: 'a' })
			await items.insert({ id: 2, code: 'a' })
		}),
	'typeorm: connection refused': async () => {
		const dead = await deadPort()
		return thrownBy(() => sourceAt(dead).initialize())
	},
}

export const close = () => postgres[Symbol.asyncDispose]()
