import { BasePage } from "./base";
import { ComparisonPage } from "./comparison";
import { FitPage, ValidationPage } from "./fit";
import { GainsPage, PayloadPage } from "./payload";
import { mount } from "./shell";
import { SignificancePage } from "./significance";

mount({ base: BasePage, comparison: ComparisonPage, fit: FitPage, gains: GainsPage, payload: PayloadPage, significance: SignificancePage, validation: ValidationPage });
