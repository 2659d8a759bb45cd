import { BasePage } from "./base";
import { ComparisonPage } from "./comparison";
import { DocumentPage } from "./document";
import { FitPage, ValidationPage } from "./fit";
import { GainsPage, PayloadPage } from "./payload";
import { mount } from "./shell";
import { SignificancePage } from "./significance";

mount({ base: BasePage, comparison: ComparisonPage, document: DocumentPage, fit: FitPage, gains: GainsPage, payload: PayloadPage, significance: SignificancePage, validation: ValidationPage });
