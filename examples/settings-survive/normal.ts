/** A normal day without a policy: does the model behave like the service? */
import { shop } from './stock.ts'

export default shop([])
